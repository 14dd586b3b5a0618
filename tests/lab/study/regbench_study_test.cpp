#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tessera/base/file.h"
#include "tessera/train/metrics_log.h"
#include "tests/lab/study/quick_study.h"

namespace tessera {
namespace {

using config::Json;
using testing::HasSubstr;
using testing::Not;

/// Two updates of tiny models on short strings.
class RegBenchStudy : public test::OneStudy {
 protected:
  RegBenchStudy()
      : OneStudy("memory-mosaics/regbench",
                 {{"task", {{"min_strings", 2}, {"max_strings", 3}, {"max_length", 4}}},
                  {"languages", {100, 120}},
                  {"held_out", 10},
                  {"search", {{"layers", {1}}, {"heads", {2, 4}}, {"channels", {16}}}},
                  {"most_updates", 2},
                  {"evaluations", 1}}) {}
};

TEST_F(RegBenchStudy, TrainsEveryModelWithEverySizeAndShowsBothScores) {
  const StudyResults results = run(tiny());
  const auto series = test::places_of(results);
  for (const ResultPoint& point : results.points()) {
    EXPECT_TRUE(point.y >= 0 && point.y <= 1) << point.series;
    EXPECT_TRUE(std::isnan(point.published)) << "other strings than the paper's";
  }
  for (const char* name : {"Memory Mosaic", "Memory Mosaic, nano", "GPT, learned", "GPT, rotary",
                           "GPT, ALiBi", "LSTM", "RetNet"})
    for (const char* metric : {", accuracy", ", TVD"})
      EXPECT_TRUE(series.contains(name + std::string(metric)));
  EXPECT_EQ(series.size(), 14u);
  const auto run_of = [&](const std::string& path) {
    return std::filesystem::exists(folder_ / (path + "/model/model.safetensors"));
  };
  for (const char* model : {"memory-mosaic", "gpt-alibi", "retnet"})
    for (const char* sizes :
         {"1-layers-2-heads-16-wide-decay-0.1", "1-layers-4-heads-16-wide-decay-0.1"})
      for (const char* set : {"100-new-languages/", "120-new-languages/", "100-trained-languages/"})
        EXPECT_TRUE(run_of(std::string(set) + model + "/" + sizes)) << set << model << sizes;
  EXPECT_TRUE(run_of("100-new-languages/lstm/1-layers-16-wide-decay-0.1"));  // it has no heads
  EXPECT_THAT(read_file(folder_ / "levels.csv"), HasSubstr("counts after two symbols"));
  // 200 times four batches, of which the last has four sequences.
  EXPECT_THAT(results.summary(), HasSubstr("800 updates for 100 languages"));
  EXPECT_THAT(read_file(folder_ / "accuracy.svg"), Not(HasSubstr("Memory Mosaic (published)")));
}

// The validation loss is what chose the network.
TEST_F(RegBenchStudy, EveryScoreIsThatOfTheTest) {
  Json settings = tiny();
  settings.update({{"models", {"LSTM"}}, {"languages", {100}}, {"trained_languages", 0}});
  run(settings);
  std::istringstream lines(read_file(folder_ / "new_languages.csv"));
  std::string cell;
  std::getline(lines, cell);  // model, languages, accuracy, TVD, loss, …
  for (int column = 0; column < 5; ++column) std::getline(lines, cell, ',');
  const auto log =
      logged_evaluations(folder_ / "100-new-languages/lstm/1-layers-16-wide-decay-0.1");
  EXPECT_FALSE(log.empty());
  for (const auto& [step, metrics] : log) EXPECT_NE(std::stod(cell), metrics.at("loss"));
}

TEST_F(RegBenchStudy, EpochsCountEverySequenceOfAnUpdate) {
  Json settings = tiny();
  settings.update({{"models", {"LSTM"}},
                   {"languages", {64}},  // two batches of 32
                   {"trained_languages", 0},
                   {"epochs", 3},
                   {"most_updates", 0},
                   {"train", {{"accumulation", 2}}}});
  run(settings);
  EXPECT_EQ(logged_losses(folder_ / "64-new-languages/lstm/1-layers-16-wide-decay-0.1").size(), 3u);
}

TEST_F(RegBenchStudy, SaysWherePublishedScoresAreOfOtherStrings) {
  Json settings = tiny();
  settings.erase("task");  // those of --quick, which are shorter than the paper's
  settings.update({{"models", {"LSTM"}}, {"languages", {100}}});
  const StudyResults results = run(settings);
  EXPECT_EQ(results.comparisons().size(), 2u);
  for (const auto& comparison : results.comparisons())
    EXPECT_EQ(comparison.unlike, "other strings") << comparison.what;
}

TEST_F(RegBenchStudy, RefusesSettingsBeforeAnyTraining) {
  EXPECT_THAT(refusal({{"models", {"LSTM", "GPT, rotray"}}}),
              HasSubstr("did you mean 'GPT, rotary'?"));
  EXPECT_THAT(refusal({{"models", Json::array()}}), HasSubstr("models is empty"));
  EXPECT_THAT(refusal({{"languages", {100, 31}}}), HasSubstr("data.languages is 31"));
  EXPECT_THAT(refusal({{"languages", {100, 100}}}), HasSubstr("languages has '100' twice"));
  EXPECT_THAT(refusal({{"search", {{"heads", {2, 3}}}}}), HasSubstr("model.heads is 3"));
  EXPECT_THAT(refusal({{"search", {{"layers", Json::array()}}}}),
              HasSubstr("search.layers is empty"));
  EXPECT_THAT(refusal({{"languages", Json::array()}, {"trained_languages", 0}}),
              HasSubstr("languages is empty"));
  EXPECT_THAT(refusal({{"evaluations", 0}}), HasSubstr("evaluations is 0"));
  EXPECT_THAT(refusal({{"epochs", 0}}), HasSubstr("epochs is 0"));
  EXPECT_THAT(refusal({{"train", {{"batch", 0}}}}), HasSubstr("train.batch is 0"));
  EXPECT_THAT(refusal({{"task", {{"max_edges", 4}}}}), HasSubstr("max_edges"));
}

}  // namespace
}  // namespace tessera
