#include "lab/theory/embedding_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lab/theory/associative_model.h"
#include "tessera/base/error.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

/// The largest |<u_z, u_z'>| of `count` unit vectors of d numbers, z != z'.
float coherence(const std::vector<float>& u, int64_t count, int64_t d) {
  std::vector<float> gram = gram_matrix(u, count, d);
  for (int64_t z = 0; z < count; ++z) gram[z * count + z] = 0;
  const auto [least, most] = std::ranges::minmax(gram);
  return std::max(most, -least);
}

TEST(Lemma1, RandomDirectionsReachTheCount) {
  // exp(d eta^2 / 4) vectors: the union bound proves existence; ordinary draws already do it.
  for (const int64_t d : {256, 512}) {
    const double eta = 0.3;
    const auto count = static_cast<int64_t>(quasi_orthogonal_count(d, eta));
    EXPECT_GT(count, 200);
    const int64_t tested = std::min<int64_t>(count, 3000);
    EXPECT_LE(coherence(random_directions(tested, d, 1), tested, d), eta) << d;
  }
  EXPECT_NEAR(quasi_orthogonal_count(100, 0.2), std::exp(1.0), 1e-9);
}

TEST(RectifiedLookup, HoldsFarMoreThanDimensions) {
  const AssociationTask task = zipf_task(2000, 5, 2);
  // 2000 associations in 64 dimensions: no outer-product memory could.
  EXPECT_LT(rectified_lookup_error(task, 2000, 64, 0.6, 1), 1e-5);
  // Only ten stored: the rest is guessed.
  double rest = 0;
  for (int x = 10; x < 2000; ++x) rest += task.law[x];
  EXPECT_NEAR(rectified_lookup_error(task, 10, 64, 0.6, 1), rest * 0.8, rest * 0.2);
  EXPECT_THROW(rectified_lookup_error(task, 2001, 8, 0.5, 1), UsageError);
  EXPECT_THROW(rectified_lookup_error(task, 0, 8, 0.5, 1), UsageError);
}

TEST(Proposition5, ErrorIsTheMassOfTheOutputsLeftOut) {
  // Four outputs with 0.4, 0.3, 0.2 and 0.1 of the mass, two inputs each.
  AssociationTask task{.law = {.2, .2, .15, .15, .1, .1, .05, .05},
                       .output = {2, 2, 0, 0, 3, 3, 1, 1},
                       .outputs = 4};
  EXPECT_NEAR(unstored_output_mass(task, 2), 0.3, 1e-12);
  EXPECT_NEAR(merged_embeddings_error(task, 2, 200, 7), 0.3, 1e-12);
  EXPECT_NEAR(merged_embeddings_error(task, 4, 200, 7), 0.0, 1e-12);
  EXPECT_NEAR(merged_embeddings_error(task, 0, 200, 7), 1.0, 1e-12);
  EXPECT_THROW(merged_embeddings_error(task, 5, 200, 7), UsageError);
}

TEST(Proposition5, FollowsTheLawOfTheOutputs) {
  // 300 outputs share 30000 inputs: 100 dimensions hold them all, where Proposition 3 has none
  // left.
  const AssociationTask task = zipf_task(30000, 300, 1.2);
  EXPECT_EQ(merged_embeddings_error(task, 300, 100, 2), 0.0);
}

}  // namespace
}  // namespace tessera::theory
