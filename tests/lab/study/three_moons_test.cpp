#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tests/lab/study/quick_study.h"

namespace tessera {
namespace {

using config::Json;
using testing::HasSubstr;

/// Two updates a training and a few predictions.
class ThreeMoonsStudy : public test::OneStudy {
 protected:
  ThreeMoonsStudy()
      : OneStudy("memory-mosaics/three-moons", {{"task", {{"steps", 40}}},
                                                {"published", recipe()},
                                                {"small_batch", recipe()},
                                                {"ours", recipe()},
                                                {"sequences", 3},
                                                {"free_steps", 4},
                                                {"stride", 12}}) {}
  static Json recipe() { return {{"seeds", 1}, {"train", {{"steps", 2}, {"batch", 2}}}}; }
};

TEST_F(ThreeMoonsStudy, DrawsErrorsAndMatricesOfBothNetworks) {
  const StudyResults results = run(tiny());
  const auto contexts = test::places_of(results);
  EXPECT_EQ(contexts.size(), 4u);
  for (const char* heads : {"1 head", "3 heads"})
    for (const char* periods : {"held-out", "training"})
      EXPECT_EQ(contexts.at(fmt::format("{}, {} periods", heads, periods)),
                (std::vector<double>{1, 13, 25}));
  EXPECT_EQ(results.comparisons().back().ours, 54);
  // 44.4 observations in a unit of time: periods 1, 2, 3 return after 6, 0.5, 1, 2.5 after 5.
  EXPECT_NEAR(results.comparisons()[0].published, 6 * 800.0 / 18, 1e-9);
  EXPECT_NEAR(results.comparisons()[1].published, 5 * 800.0 / 18, 1e-9);
  for (const char* file :
       {"report.html", "error-held-out.svg", "error-training.svg", "matrices-1-head.svg",
        "matrices-3-heads.svg", "errors.csv", "disentangled.csv", "trainings.csv",
        "published-1-head-run1/model/config.json"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / file)) << file;
}

TEST_F(ThreeMoonsStudy, RefusesSettingsBeforeAnyWork) {
  EXPECT_THAT(refusal({{"sequences", 0}}), HasSubstr("sequences is 0"));
  EXPECT_THAT(refusal({{"stride", 0}}), HasSubstr("stride is 0"));
  EXPECT_THAT(refusal({{"free_steps", 40}}), HasSubstr("free_steps is 40"));
  EXPECT_THAT(refusal({{"dominance", 1.5}}), HasSubstr("dominance is 1.5"));
  EXPECT_THAT(refusal({{"ours", {{"seeds", 0}}}}), HasSubstr("ours.seeds is 0"));
  EXPECT_THAT(refusal({{"ours", {{"train", {{"beta1", 2}}}}}}), HasSubstr("ours.train.beta1 is 2"));
  EXPECT_THAT(refusal({{"training_periods", {1, 2}}}), HasSubstr("three multiples of 0.1"));
  EXPECT_THAT(refusal({{"training_periods", Json::array()}}),
              HasSubstr("training_periods is empty"));
  EXPECT_THAT(refusal({{"hurry", 1}}), HasSubstr("unknown key 'hurry'"));
  for (const auto& [key, value] :
       {std::pair<const char*, Json>("sets", "held-out"), {"periods", {1, 2, 3}}})
    EXPECT_THAT(refusal({{"task", {{key, value}}}}),
                HasSubstr(fmt::format("task.{} would have no effect", key)));
}

}  // namespace
}  // namespace tessera
