#include "lab/theory/general_weights.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

TEST(GeneralWeights, PlainIsEquationFour) {
  const AssociationTask task = zipf_task(300, 7, 1.2);
  for (const int64_t d : {8, 40}) {
    const std::vector<SimulatedMemory> all = {{std::vector<float>(300, 1.0f), {d}}};
    EXPECT_NEAR(general_weights_error(task, OutputWeights::kPlain, d, 5),
                population_errors(task, all, 5)[0][0], 1e-12)
        << d;
  }
}

TEST(GeneralWeights, DualOutputsDoNotAnswerForEachOther) {
  // As many dimensions as inputs and outputs: u overlap, so the plain sum errs more often.
  const AssociationTask task = zipf_task(64, 64, 0.5);
  double plain = 0, centred = 0, dual = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    plain += general_weights_error(task, OutputWeights::kPlain, 64, seed);
    centred += general_weights_error(task, OutputWeights::kCentred, 64, seed);
    dual += general_weights_error(task, OutputWeights::kDual, 64, seed);
  }
  EXPECT_LT(dual, 0.9 * plain);
  EXPECT_LE(centred, plain);
}

TEST(GeneralWeights, OneInputIsReadRight) {
  const AssociationTask task = zipf_task(1, 3, 1);
  for (const OutputWeights weights :
       {OutputWeights::kPlain, OutputWeights::kCentred, OutputWeights::kDual})
    EXPECT_EQ(general_weights_error(task, weights, 4, 1), 0);
}

TEST(GeneralWeights, RefuseWhatHasNoDualVectors) {
  const AssociationTask task = zipf_task(10, 5, 1);
  EXPECT_THROW(general_weights_error(task, OutputWeights::kDual, 4, 1), UsageError);
  EXPECT_THROW(general_weights_error(task, OutputWeights::kPlain, 0, 1), UsageError);
}

TEST(CappedWeights, KeepTheFirstOfEachOutput) {
  AssociationTask task = zipf_task(5, 2, 1);
  task.output = {0, 0, 1, 0, 1};
  EXPECT_EQ(capped_weights(task, 1), (std::vector<float>{1, 0, 1, 0, 0}));
  EXPECT_EQ(capped_weights(task, 2), (std::vector<float>{1, 1, 1, 0, 1}));
  EXPECT_EQ(capped_weights(task, 0), std::vector<float>(5, 0.0f));
}

}  // namespace
}  // namespace tessera::theory
