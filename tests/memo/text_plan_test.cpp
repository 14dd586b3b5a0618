#include "tessera/memo/recall_predictor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tessera/memo/bound_window_predictor.h"
#include "tessera/memo/detail/window_error_predictor.h"
#include "tests/memo/texts.h"

namespace tessera::memo {
namespace {

const TextMemoryConfig kConfig{.heads = 2, .layers = 2, .vocabulary = 30};

TEST(TextPlan, OfDocumentsFollowsTheCode) {
  const auto text = test::random_tokens(5, 600, 30);
  const auto choose = [](const RecallPredictor& predictor) { return predictor.plan_for(0.2); };
  TextMemoryConfig config = kConfig;
  const SizePlan bound = plan_memory({text}, config, 1, choose);
  EXPECT_EQ(bound.dimension,
            BoundWindowPredictor({text}, {2, 4}, 30, 2000, 1).smallest_dimension(0.2, 64));
  config.code = WindowCodeKind::kPaper;
  const SizePlan paper = plan_memory(
      {text}, config, 1, [](const RecallPredictor& predictor) { return predictor.plan_in(512); });
  const WindowErrorPredictor predictor(text, {.heads = 2, .layers = 2, .vocabulary = 30}, 2000, 1);
  EXPECT_EQ(paper.associations, predictor.associations());
  EXPECT_EQ(paper.error, predictor.error(512).mean);
  EXPECT_GT(paper.associations, bound.associations);  // each pair at every position
}

TEST(TextPlan, DividesWhatIsLarge) {
  const auto text = test::random_tokens(5, 600, 30);
  // Any text is said to need as many numbers as one matrix of 6000 dimensions has, and no dimension
  // below `least`.
  const auto planned = [&](int64_t least, WindowCodeKind code = WindowCodeKind::kBound) {
    TextMemoryConfig config = kConfig;
    config.code = code;
    int32_t shards = 1;
    const SizePlan plan = plan_shards({text}, config, 1, [&](const RecallPredictor&) {
      const SizePlan plan{.dimension = std::max(least, 6000 / std::lround(std::sqrt(shards)))};
      shards *= 4;
      return plan;
    });
    return std::pair(config.shards, *plan.dimension);
  };
  EXPECT_EQ(planned(0), std::pair(64, int64_t{750}));
  EXPECT_EQ(planned(2500), std::pair(4, int64_t{3000})) << "16 of 2500 cost more";
  EXPECT_EQ(planned(6000), std::pair(1, int64_t{6000})) << "more matrices do not make them smaller";
  EXPECT_EQ(planned(0, WindowCodeKind::kPaper), std::pair(1, int64_t{6000}));
}

}  // namespace
}  // namespace tessera::memo
