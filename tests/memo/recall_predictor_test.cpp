#include "tessera/memo/recall_predictor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/memo/bound_window_predictor.h"
#include "tessera/memo/detail/window_error_predictor.h"
#include "tests/memo/texts.h"

namespace tessera::memo {
namespace {

/// Error 10 / d with a standard error of 1 / d.
class Hyperbola final : public RecallPredictor {
 public:
  int64_t associations() const override { return 7; }
  int64_t probes() const override { return 3; }
  Spread error(int64_t dimension) const override {
    return {10.0 / static_cast<double>(dimension), 1.0 / static_cast<double>(dimension), 1};
  }
  double floor() const override { return 0.001; }
};

TEST(RecallPredictor, FindsTheFirstMultipleThatReachesTheError) {
  const Hyperbola predictor;
  EXPECT_EQ(predictor.smallest_dimension(0.11, 10), 100);
  EXPECT_EQ(predictor.smallest_dimension(0.11, 64), 128);
  EXPECT_EQ(predictor.smallest_dimension(100, 64), 64);
  EXPECT_EQ(predictor.smallest_dimension(100, 1), 1);
  EXPECT_EQ(predictor.smallest_dimension(1e-6, 1), 0);
  EXPECT_EQ(predictor.smallest_dimension(11.0 / 700000, 64), 700032) << "below 10^6";
  EXPECT_EQ(predictor.smallest_dimension(11.0 / 1000100, 64), 0);
  EXPECT_THROW(predictor.smallest_dimension(0.1, 0), UsageError);
}

TEST(RecallPredictor, PlansAreInMultiplesOf64) {
  const SizePlan plan = Hyperbola().plan_for(0.11);
  EXPECT_EQ(plan.dimension, 128);
  EXPECT_DOUBLE_EQ(plan.error, 10.0 / 128);
  EXPECT_DOUBLE_EQ(plan.standard_error, 1.0 / 128);
  EXPECT_EQ(plan.associations, 7);
  EXPECT_EQ(plan.probes, 3);
  EXPECT_DOUBLE_EQ(plan.error_in_any_dimension, 0.001);
}

TEST(RecallPredictor, PlansTheDimensionGiven) {
  const SizePlan plan = Hyperbola().plan_in(100);
  EXPECT_EQ(plan.dimension, 100);
  EXPECT_DOUBLE_EQ(plan.error, 0.1);
}

TEST(RecallPredictor, SaysWhereNoDimensionIsEnough) {
  const SizePlan plan = Hyperbola().plan_for(1e-6);
  EXPECT_FALSE(plan.dimension.has_value());
  EXPECT_EQ(plan.associations, 7);
  EXPECT_DOUBLE_EQ(plan.error_in_any_dimension, 0.001);
}

const TextMemoryConfig kConfig{.heads = 2, .layers = 2, .vocabulary = 30};

TEST(TextPlan, OfDocumentsFollowsTheCode) {
  const auto text = test::random_tokens(5, 600, 30);
  const auto choose = [](const RecallPredictor& predictor) { return predictor.plan_for(0.2); };
  TextMemoryConfig config = kConfig;
  const SizePlan bound = plan_memory({text}, config, 1, choose);
  EXPECT_EQ(bound.dimension,
            BoundWindowPredictor({text}, kConfig, 2000, 1).smallest_dimension(0.2, 64));
  config.code = WindowCodeKind::kPaper;
  const SizePlan paper = plan_memory(
      {text}, config, 1, [](const RecallPredictor& predictor) { return predictor.plan_in(512); });
  const WindowErrorPredictor predictor({text}, kConfig, 2000, 1);
  EXPECT_EQ(paper.associations, predictor.associations());
  EXPECT_EQ(paper.error, predictor.error(512).mean);
  EXPECT_EQ(paper.associations, bound.associations);  // of windows of two and four tokens
}

TEST(TextPlan, DividesWhatIsLarge) {
  const auto text = test::random_tokens(5, 600, 30);
  // Any text is said to need as many numbers as one matrix of `whole` dimensions has, and no
  // dimension below `least`.
  const auto planned = [&](int64_t least, WindowCodeKind code = WindowCodeKind::kBound,
                           int64_t whole = 6000) {
    TextMemoryConfig config = kConfig;
    config.code = code;
    int32_t shards = 1;
    const SizePlan plan = plan_shards({text}, config, 1, [&](const RecallPredictor&) {
      const SizePlan plan{.dimension = std::max(least, whole / std::lround(std::sqrt(shards)))};
      shards *= 4;
      return plan;
    });
    return std::pair(config.shards, *plan.dimension);
  };
  EXPECT_EQ(planned(0), std::pair(64, int64_t{750}));
  EXPECT_EQ(planned(2500), std::pair(4, int64_t{3000})) << "16 of 2500 cost more";
  EXPECT_EQ(planned(6000), std::pair(1, int64_t{6000})) << "more matrices do not make them smaller";
  EXPECT_EQ(planned(0, WindowCodeKind::kPaper), std::pair(1, int64_t{6000}));
  EXPECT_EQ(planned(0, WindowCodeKind::kBound, 96000), std::pair(4096, int64_t{1500}))
      << "no memory has more matrices";
}

}  // namespace
}  // namespace tessera::memo
