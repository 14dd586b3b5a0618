#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/train/metrics_log.h"
#include "tests/lab/study/quick_study.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

/// Two updates of tiny networks.
class NeedleStudy : public test::OneStudy {
 protected:
  NeedleStudy()
      : OneStudy(
            "benchmarks/needle",
            {{"models",
              {"Memory Mosaic", "Memory Mosaic, oldest pairs dropped",
               "Memory Mosaic, least used pairs dropped", "Memory Mosaic v2",
               "GPT, rotary positions", "GPT, ALiBi"}},
             {"window", 49},
             {"windows", {1, 2}},
             {"layers", 1},
             {"channels", 8},
             {"heads", 2},
             {"test_samples", 4},
             {"depths", 2},
             {"depth_samples", 3},
             {"train", {{"steps", 2}, {"warmup_steps", 1}, {"batch", 4}, {"evaluate_every", 1}}}}) {
  }
};

TEST_F(NeedleStudy, AsksEveryNetworkEveryKindAtEveryLength) {
  const StudyResults results = run(tiny());
  for (const ResultPoint& point : results.points())
    EXPECT_TRUE(point.y >= 0 && point.y <= 100) << point.series;
  const auto lengths = test::places_of(results);
  EXPECT_EQ(lengths.size(), 6u * 4);
  for (const auto& [series, tokens] : lengths)
    EXPECT_EQ(tokens, (std::vector<double>{49, 98})) << series;
  EXPECT_EQ(results.chart_names(), (std::vector<std::string>{"lengths", "depths"}));
  // A key and a value of 8 floats for every token; the short-term memory of v2 keeps no more.
  for (const char* network : {"\"GPT, rotary positions\"", "Memory Mosaic v2"})
    EXPECT_THAT(read_file(folder_ / "networks.csv"),
                testing::ContainsRegex(fmt::format("{},[0-9]+,64,", network)));
  // One training for the Memory Mosaic, whatever its memories keep when it is asked.
  EXPECT_TRUE(std::filesystem::exists(folder_ / "memory-mosaic-rate-0.01"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "memory-mosaic-oldest-pairs-dropped-rate-0.01"));
}

TEST_F(NeedleStudy, ListsANetworkOnceWhereverItsBoundedMemoriesAreAsked) {
  config::Json settings = tiny();
  settings["models"] = {"Memory Mosaic", "GPT, ALiBi", "Memory Mosaic, oldest pairs dropped"};
  run(settings);
  const std::string table = read_file(folder_ / "networks.csv");
  EXPECT_EQ(std::ranges::count(table, '\n'), 1 + 2) << table;
  EXPECT_THAT(table, testing::Not(testing::HasSubstr("oldest pairs dropped")));
}

TEST_F(NeedleStudy, RefusesSettingsBeforeAnyTraining) {
  EXPECT_EQ(refusal({{"windows", config::Json::array()}}),
            "windows is empty, so nothing is measured");
  for (const char* count : {"test_samples", "depths", "depth_samples"})
    EXPECT_THAT(refusal({{count, 0}}), testing::HasSubstr(fmt::format("{} is 0", count)));
  EXPECT_THAT(refusal({{"window", 40}}), testing::HasSubstr("task.length is 40"));
  EXPECT_THAT(refusal({{"train", {{"learning_rate", 0.1}}}}),
              testing::HasSubstr("train.learning_rate would have no effect"));
}

/// Six people and a small GPT.
class StoredBitsStudy : public test::OneStudy {
 protected:
  StoredBitsStudy()
      : OneStudy("benchmarks/stored-bits",
                 {{"people", 6}, {"layers", 1}, {"heads", 2}, {"models", {"GPT"}}}) {}
  StudyResults run_with(const config::Json& more) const {
    config::Json settings = tiny();
    settings.update(more);
    return run(settings);
  }
};

TEST_F(StoredBitsStudy, LearnsAtMostWhatThereIsToKnow) {
  const StudyResults results = run_with(
      {{"exposures", {2, 400}},
       {"channels", 16},
       {"train",
        {{"warmup_steps", 1}, {"batch", 6}, {"learning_rate", 0.03}, {"evaluate_every", 200}}}});
  ASSERT_EQ(results.points().size(), 2u);
  // 46.6 bits of facts, and log2(400 400 1000 / 6) of names.
  const double all = std::log2(12 * 28 * 200) + std::log2(200) + std::log2(300) + std::log2(100) +
                     std::log2(263) + std::log2(400. * 400 * 1000 / 6);
  const std::string table = read_file(folder_ / "bits.csv");
  EXPECT_THAT(table, testing::HasSubstr(fmt::format("{:.9f}", all).substr(0, 9)));
  EXPECT_LT(results.points()[0].y, results.points()[1].y);
  // A key and a value of 16 floats for every token.
  EXPECT_THAT(table, testing::ContainsRegex("GPT,400,[0-9]+,128,"));
}

TEST_F(StoredBitsStudy, ExposuresCountEverySequenceOfAnUpdate) {
  run_with({{"exposures", {4}},
            {"channels", 8},
            {"train", {{"warmup_steps", 1}, {"batch", 3}, {"accumulation", 2}}}});
  EXPECT_EQ(logged_losses(folder_ / "gpt-4-exposures").size(), 4u);
}

}  // namespace
}  // namespace tessera
