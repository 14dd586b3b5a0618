#include "lab/theory/likelihood_ratio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "tessera/base/error.h"
#include "tessera/plan/association_task.h"
#include "tessera/plan/blas.h"
#include "tessera/plan/gaussian_field.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

TEST(ClassNoise, TwoDimensionsByHand) {
  // W = [[1, 2], [0, 3]], u_0 = (1, 0), u_1 = (0, 1).
  EXPECT_EQ(class_noise(std::vector<float>{1, 2, 0, 3}, std::vector<float>{1, 0, 0, 1}, 2),
            (std::vector<double>{2.5, 4.5}));
  EXPECT_THROW(class_noise(std::vector<float>{1, 2}, std::vector<float>{1, 0}, 2), UsageError);
}

TEST(LikelihoodRatio, WeighsNoiseAndFrequency) {
  // Scores 0.6 and 0.5; the first output is five times as noisy: (0.1)/0.5 < (0)/0.1 + log 2.
  const std::vector<float> scores = {0.6f, 0.5f};
  const std::vector<double> noise = {0.5, 0.1};
  EXPECT_EQ(likelihood_ratio_answer(scores, noise, std::vector<double>{0.5, 0.5}), 0);
  EXPECT_EQ(likelihood_ratio_answer(scores, noise, std::vector<double>{0.3, 0.7}), 1);
  EXPECT_EQ(likelihood_ratio_answer(scores, noise, std::vector<double>{0.0, 1.0}), 1);
  EXPECT_THROW(likelihood_ratio_answer(scores, noise, std::vector<double>{0, 0}), UsageError);
  EXPECT_THROW(likelihood_ratio_answer(scores, noise, std::vector<double>{1}), UsageError);
}

/// V = 1000 outputs of Zipf law, n = 2048 independent keys in d = 512, all stored in W.
TEST(ClassNoise, MakesTheRatioDecoderErrLess) {
  constexpr int64_t V = 1000, n = 2048, d = 512;
  RandomStream random(3);
  const AssociationTask outputs = zipf_task(V, 1, 1);
  const AliasTable table(outputs.law);
  std::vector<int32_t> answer(n);
  std::vector<double> prior(V, 0.0), theory(V, 0.0);
  for (int32_t& y : answer) prior[y = table.draw(random)] += 1.0 / n;
  const auto u = random_directions(V, d, 1);
  std::vector<float> keys = gaussian_rows(n, d, 2), w(d * d, 0.0f);
  for (float& k : keys) k /= std::sqrt(static_cast<float>(d));
  std::vector<float> values(n * d), read(n * d), scores(n * V);  // W = values^T keys
  for (int64_t x = 0; x < n; ++x) std::copy_n(u.begin() + answer[x] * d, d, values.begin() + x * d);
  transposed_multiply(d, d, n, values.data(), d, keys.data(), d, 0, w.data(), d);

  const auto noise = class_noise(w, u, d);
  int plain_errors = 0, ratio_errors = 0;
  multiply_transposed(n, d, d, keys.data(), d, w.data(), d, 0, read.data(), d);
  multiply_transposed(n, V, d, read.data(), d, u.data(), d, 0, scores.data(), V);
  for (int64_t x = 0; x < n; ++x) {
    const std::span<const float> line(scores.data() + x * V, V);
    plain_errors += std::max_element(line.begin(), line.end()) - line.begin() != answer[x];
    ratio_errors += likelihood_ratio_answer(line, noise, prior) != answer[x];
  }
  EXPECT_NEAR(plain_errors / static_cast<double>(n), 0.184, 0.04);
  EXPECT_LT(1.7 * ratio_errors, plain_errors);
}

}  // namespace
}  // namespace tessera::theory
