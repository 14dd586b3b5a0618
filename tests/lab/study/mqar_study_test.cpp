#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "lab/study/comparison.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/train/metrics_log.h"
#include "tests/lab/study/quick_study.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using config::Json;
using test::message_of;
using testing::HasSubstr;
using testing::Not;

/// Two updates of tiny models.
class MqarStudy : public test::OneStudy {
 protected:
  MqarStudy()
      : OneStudy(
            "benchmarks/mqar",
            {{"lengths", {8, 12}},
             {"pairs", {2, 3}},
             {"vocabulary", 16},
             {"blocks", {1, 2}},
             {"channels", {8}},
             {"heads", 2},
             {"learning_rates", {0.01}},
             {"data", {{"test_samples", 20}}},
             {"train", {{"steps", 2}, {"warmup_steps", 1}, {"batch", 4}, {"evaluate_every", 1}}}}) {
  }
};

TEST_F(MqarStudy, MeasuresEveryNetworkOnEveryLengthAndTheSizeOfItsState) {
  const StudyResults results = run(tiny());
  for (const ResultPoint& point : results.points())
    EXPECT_TRUE(point.y >= 0 && point.y <= 100) << point.series;
  const auto bytes = test::places_of(results);
  EXPECT_EQ(bytes.size(), 6u * 2 * 2);  // models, depths, lengths
  // Two vectors a block; keys and values of every token; S in each of two heads.
  EXPECT_EQ(bytes.at("LSTM, 2 blocks, 8 tokens, 2 pairs").front(), 2 * 2 * 8 * 4);
  EXPECT_EQ(bytes.at("GPT, 2 blocks, 12 tokens, 3 pairs").front(), 2 * 12 * 2 * 8 * 4);
  EXPECT_EQ(bytes.at("RetNet, 1 block, 12 tokens, 3 pairs").front(), 2 * (4 * 8) * 4);
  EXPECT_EQ(results.chart_names(),
            (std::vector<std::string>{"8-tokens-2-pairs", "12-tokens-3-pairs"}));
  EXPECT_THAT(read_file(folder_ / "8-tokens-2-pairs.svg"), HasSubstr("any value of the context"));
  EXPECT_THAT(read_file(folder_ / "networks.csv"), HasSubstr("8,2,\"Memory Mosaic, 1 block\",8,"));
  EXPECT_TRUE(std::filesystem::exists(
      folder_ / "12-tokens-3-pairs/retnet/2-blocks-8-wide-rate-0.01/model/model.safetensors"));
}

/// Right validation answers of the weights that a training kept.
double validation_accuracy(const std::filesystem::path& run) {
  std::map<double, double> by_loss;
  for (const auto& [step, metrics] : logged_evaluations(run))
    by_loss.try_emplace(metrics.at("loss"), metrics.at("accuracy"));
  return by_loss.begin()->second;
}

TEST_F(MqarStudy, TheBestWidthIsTheOneThatIsBestInValidation) {
  const std::vector<int64_t> widths = {8, 16, 24, 32};
  Json settings = tiny();
  settings.update({{"lengths", {8}}, {"pairs", {2}}, {"blocks", {1}}, {"channels", widths}});
  const StudyResults results = run(settings);
  std::map<std::string, std::vector<double>> tested;
  for (const ResultPoint& point : results.points()) tested[point.series].push_back(point.y);
  for (const auto& [series, percent] : tested) {
    const std::string name = series.substr(0, series.find(','));
    size_t best = 0;
    std::vector<double> validated;
    for (size_t i = 0; i < widths.size(); ++i) {
      validated.push_back(
          validation_accuracy(folder_ / "8-tokens-2-pairs" / folder_name(name) /
                              fmt::format("1-blocks-{}-wide-rate-0.01", widths[i])));
      if (validated[i] > validated[best]) best = i;
    }
    EXPECT_THAT(results.summary(),
                HasSubstr(fmt::format("{} {:.1f}", name + ", 1 block", percent.at(best))));
  }
}

TEST_F(MqarStudy, TrainsAnStmOnceAndOnTheVariantsOfTheTask) {
  Json settings = tiny();
  settings["models"] = {"STM"};
  settings["lengths"] = {8};
  settings["pairs"] = {2};
  settings["overwritten"] = 1;
  EXPECT_THAT(message_of<UsageError>([&] { run(settings); }), HasSubstr("expected at least 10"));
  settings["overwritten"] = 0;
  settings["compound"] = true;
  settings["lengths"] = {12};
  EXPECT_THAT(message_of<UsageError>([&] { run(settings); }), HasSubstr("square"));

  settings["compound"] = false;
  settings["lengths"] = {8};
  const StudyResults results = run(settings);
  ASSERT_EQ(results.points().size(), 1u);
  EXPECT_EQ(results.points().front().series, "STM, 8 tokens, 2 pairs");
  EXPECT_EQ(results.points().front().x, 2 * 8 * 8 * 4);  // items and relations
  EXPECT_THAT(read_file(folder_ / "8-tokens-2-pairs.svg"), HasSubstr("planned: one correlation"));
}

// A matrix to which both values of a key are added does not know the later one.
TEST_F(MqarStudy, PlansNoMatrixForOverwrittenKeys) {
  Json settings = tiny();
  settings.update({{"models", {"LSTM"}},
                   {"blocks", {1}},
                   {"lengths", {12}},
                   {"pairs", {2}},
                   {"overwritten", 1}});
  run(settings);
  EXPECT_THAT(read_file(folder_ / "12-tokens-2-pairs.svg"), Not(HasSubstr("planned")));
  EXPECT_THAT(read_file(folder_ / "report.html"), Not(HasSubstr("theory of capacity")));
}

TEST_F(MqarStudy, ARateThatDivergesIsPassedOver) {
  Json settings = tiny();
  settings.update({{"models", {"GPT"}},
                   {"blocks", {1}},
                   {"lengths", {8}},
                   {"pairs", {2}},
                   {"learning_rates", {1e38, 0.01}}});
  settings["train"]["steps"] = 4;
  run(settings);
  EXPECT_TRUE(std::filesystem::exists(
      folder_ / "8-tokens-2-pairs/gpt/1-blocks-8-wide-rate-0.01/model/model.safetensors"));
  EXPECT_FALSE(
      std::filesystem::exists(folder_ / "8-tokens-2-pairs/gpt/1-blocks-8-wide-rate-1e+38/model"));
  const test::TemporaryFolder other;
  settings["learning_rates"] = {1e38};
  EXPECT_THAT(message_of<std::runtime_error>(
                  [&] { test::run_quick("benchmarks/mqar", settings, other.path()); }),
              HasSubstr("every learning rate diverges"));
}

TEST_F(MqarStudy, ASolvedTaskNeedsNoOtherRateAndAnotherRunNoTraining) {
  Json settings = tiny();
  settings["models"] = {"GPT"};
  settings["learning_rates"] = {0.01, 0.001};
  settings["solved"] = 0;
  const std::string first = run(settings).point_table().csv();
  const auto tried = folder_ / "8-tokens-2-pairs/gpt/1-blocks-8-wide-rate-0.01/metrics.jsonl";
  EXPECT_FALSE(
      std::filesystem::exists(folder_ / "8-tokens-2-pairs/gpt/1-blocks-8-wide-rate-0.001"));
  const std::string before = read_file(tried);
  EXPECT_EQ(run(settings).point_table().csv(), first);
  EXPECT_EQ(read_file(tried), before);
}

TEST_F(MqarStudy, RatesThatAreShownAlikeAreTrainedApart) {
  Json settings = tiny();
  settings.update({{"models", {"GPT"}}, {"learning_rates", {1e-2, 1.0000001e-2}}, {"solved", 1.1}});
  run(settings);
  EXPECT_THAT(read_file(folder_ / "networks.csv"), HasSubstr(",2\n"));  // rates tried
}

TEST_F(MqarStudy, RefusesSettingsBeforeAnyTraining) {
  EXPECT_EQ(refusal({{"lengths", {8}}}),
            "lengths are 1, pairs 2; expected as many of one as of the other");
  EXPECT_EQ(refusal({{"lengths", {8, 8}}, {"pairs", {2, 2}}}),
            "lengths has '8 tokens, 2 pairs' twice");
  EXPECT_EQ(refusal({{"blocks", Json::array()}}), "blocks is empty, so nothing is measured");
  EXPECT_THAT(refusal({{"models", {"GTP"}}}), HasSubstr("did you mean 'GPT'?"));
  EXPECT_EQ(refusal({{"models", {"GPT", "GPT"}}}), "models has 'GPT' twice");
  EXPECT_THAT(refusal({{"pairs", {2, 4}}}), HasSubstr("task.length is 12, expected at least 16"));
  EXPECT_EQ(refusal({{"learning_rates", {0.01, -1}}}),
            "study settings.learning_rates[1] is -1, expected a number above 0");
  EXPECT_THAT(refusal({{"models", {"LSTM", "GPT"}}, {"channels", {8, 9}}}), HasSubstr("heads"));
  EXPECT_THAT(refusal({{"train", {{"learning_rate", 0.1}}}}),
              HasSubstr("train.learning_rate would have no effect"));
}

}  // namespace
}  // namespace tessera
