// The studies that train Memory Mosaics and GPTs of the same size side by side, with tiny networks.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/statistics.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/language_model.h"
#include "tessera/model/model_kind.h"
#include "tessera/text/corpus.h"
#include "tessera/text/text_learner.h"
#include "tessera/train/metrics_log.h"
#include "tests/lab/study/quick_study.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using config::Json;
using test::message_of;
using testing::ContainsRegex;
using testing::HasSubstr;

class NetworkStudies : public testing::Test {
 protected:
  /// The quick study with tiny networks and these settings.
  StudyResults run(const std::string& name, Json settings, uint64_t seed = 1) {
    return run_in(folder_.path(), name, std::move(settings), seed);
  }
  StudyResults run_in(const std::filesystem::path& folder, const std::string& name, Json settings,
                      uint64_t seed = 1) {
    Json all = {
        {"data", {{"stories", 60}, {"tokenizer", "byte"}}},
        {"train", {{"steps", 2}, {"batch", 2}, {"evaluate_every", 1}, {"evaluate_batches", 1}}},
        {"layers", 1},
        {"heads", 2},
        {"channels", 8},
        {"window", 32}};
    if (name == "depth") all.erase("layers");  // it has a list of them
    if (name == "small-budget") {              // it has lists of them
      all.erase("channels");
      all["data"].erase("stories");
    }
    all.merge_patch(settings);
    return test::run_quick("memory-mosaics/" + name, all, folder, seed);
  }

  /// What the study says to these settings.
  template <typename Exception = UsageError>
  std::string refusal(const std::string& name, const Json& settings) {
    return message_of<Exception>([&] { run(name, settings); });
  }

  std::string read(const std::string& name) const { return read_file(folder_ / name); }

  /// A text of another kind.
  std::string other_text(int sentences = 400) const {
    std::string text;
    for (int i = 0; i < sentences; ++i) text += fmt::format("{} times {} is {}. ", i, i, i * i);
    write_file(folder_ / "other.txt", text);
    return (folder_ / "other.txt").native();
  }

  test::TemporaryFolder folder_;
};

TEST_F(NetworkStudies, DepthTrainsBothKindsAtEveryDepth) {
  const StudyResults results = run("depth", {{"depths", {1, 2}}}, /*seed=*/3);
  for (const char* name : {"gpt-1", "gpt-2", "memory_mosaic-1", "memory_mosaic-2"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / name / "model" / "model.safetensors")) << name;
  EXPECT_THAT(read("memory_mosaic-2/config.toml"), HasSubstr("layers = 2"));
  EXPECT_THAT(results.summary(), HasSubstr("Tokens: bytes, 257 tokens, not GPT-2's"));
  ASSERT_EQ(results.comparisons().size(), 1u);  // the paper's numbers are of 1 and 12 blocks
  EXPECT_DOUBLE_EQ(results.comparisons()[0].published, 0.95);
  EXPECT_TRUE(test::places_of(results).contains("Memory Mosaic, 2 blocks, loss by step"));
  EXPECT_THAT(read("gpt-1/config.toml"), HasSubstr("seed = 1339"));  // 1337 with seed 1
  std::filesystem::remove(folder_ / "config.toml");  // which keeps the folder to its settings
  EXPECT_THAT(refusal("depth", {{"depths", Json::array()}}), HasSubstr("depths is empty"));
}

TEST_F(NetworkStudies, PaperSizesAreThoseOfBabiStories) {
  for (const char* name : {"depth", "attention", "out-of-distribution", "prompts"}) {
    const std::string settings =
        describe_settings(find_study(all_studies(), std::string("memory-mosaics/") + name));
    // 2.2 million to learn from, a hundredth more to validate on; 80 windows on each of 64 GPUs.
    EXPECT_THAT(settings, HasSubstr("paper 2222000) instead of a text")) << name;
    EXPECT_THAT(settings, HasSubstr("data.validation_share = 0.1 (quick 0.1, paper 0.01)")) << name;
    EXPECT_THAT(settings, ContainsRegex("train.evaluate_batches = [0-9]+ .*paper 640\\)")) << name;
  }
}

TEST_F(NetworkStudies, RefuseToMeasureNothingBeforeAnyTraining) {
  for (const auto& [study, count] :
       {std::pair("attention", "sequences"), std::pair("out-of-distribution", "windows"),
        std::pair("prompts", "beams"), std::pair("prompts", "tokens"),
        std::pair("prompts", "questions")})
    EXPECT_THAT(refusal(study, {{count, 0}}), HasSubstr(fmt::format("{} is 0", count))) << study;
  EXPECT_THAT(
      message_of<UsageError>([&] {
        test::run_quick("memory-mosaics/stories", {{"data", {{"stories", 0}}}}, folder_.path());
      }),
      HasSubstr("data.stories is 0, expected 1 or more"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "config.toml"));
}

TEST_F(NetworkStudies, StoriesSayWhereTokensAreNotGpt2s) {
  const StudyResults results = test::run_quick(
      "memory-mosaics/stories",
      {{"data", {{"stories", 20}, {"tokenizer", "byte"}}}, {"validation_stories", 5}},
      folder_.path());
  ASSERT_EQ(results.comparisons().size(), 4u);
  EXPECT_THAT(results.summary(), HasSubstr("Tokens: bytes, 257 tokens, not GPT-2's"));
  for (const auto& row : results.comparisons())
    EXPECT_EQ(row.unlike, row.what.starts_with("tokens") ? "other tokens" : "") << row.what;
}

TEST_F(NetworkStudies, RefuseASettingOfWhichTheyTrySeveral) {
  EXPECT_THAT(refusal("depth", {{"layers", 2}}), HasSubstr("unknown key 'layers'"));
  EXPECT_THAT(refusal("small-budget", {{"channels", 8}}), HasSubstr("unknown key 'channels'"));
  EXPECT_THAT(refusal("small-budget", {{"parameterisation", "paper"}}),
              HasSubstr("unknown key 'parameterisation'"));
  for (const auto& [key, value] : {std::pair<const char*, Json>("stories", 60), {"text", "a"}})
    EXPECT_THAT(refusal("small-budget", {{"data", {{key, value}}}}),
                HasSubstr(fmt::format("data.{} would have no effect", key)));
  EXPECT_THAT(refusal("small-budget", {{"train", {{"learning_rate", 0.1}}}}),
              HasSubstr("train.learning_rate would have no effect"));
}

TEST_F(NetworkStudies, RefuseANetworkBeforeAnotherIsTrained) {
  EXPECT_THAT(refusal("depth", {{"depths", {1, 0}}}), HasSubstr("model.layers is 0"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "gpt-1"));
  std::filesystem::remove_all(folder_ / "corpus");
  std::filesystem::remove(folder_ / "config.toml");
  EXPECT_THAT(refusal("small-budget", {{"texts", {other_text()}}, {"sizes", {8, 9}}}),
              HasSubstr("model.heads is 2, which does not divide model.channels = 9"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "text-1" / "channels-8"));
}

TEST_F(NetworkStudies, NeedWhatTheyAreGivenBeforeAnyTraining) {
  const std::string nowhere = folder_ / "nowhere";
  EXPECT_THAT(refusal<std::runtime_error>("prompts", {{"mosaic", nowhere}}), HasSubstr("nowhere"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "config.toml"));
  EXPECT_THAT(refusal<std::runtime_error>("small-budget", {{"texts", {other_text(), nowhere}}}),
              HasSubstr("nowhere"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "text-1" / "channels-64"));
}

TEST_F(NetworkStudies, NeedTheTokenizerOfAModelBeforeAnyTraining) {
  save_model(folder_ / "bare", *make_language_model("lstm", {{"vocabulary", 257}}, 1));
  EXPECT_THAT(refusal<DataError>("prompts", {{"mosaic", (folder_ / "bare").native()}}),
              HasSubstr("has no tokenizer.json"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "gpt"));
}

TEST_F(NetworkStudies, NeedAValidationTextOfTheirWindowsBeforeAnyTraining) {
  EXPECT_THAT(refusal("attention", {{"window", 4096}}),
              HasSubstr("tokens; the study reads windows of 12288"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "memory_mosaic"));
}

TEST_F(NetworkStudies, NeedAnotherTextOfAWindowBeforeAnyTraining) {
  EXPECT_THAT(refusal("out-of-distribution", {{"other", other_text(2)}}),
              HasSubstr("tokens; the study reads windows of 33"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "gpt"));
}

TEST_F(NetworkStudies, OutOfDistributionMeasuresEveryPositionOfBothTexts) {
  const StudyResults results =
      run("out-of-distribution", {{"other", other_text()}, {"windows", 4}});
  for (const ResultPoint& point : results.points())
    EXPECT_TRUE(std::isfinite(point.y)) << point.series;
  const auto positions = test::places_of(results);
  for (const char* network : {"GPT, ", "Memory Mosaic, "})
    for (const char* text : {"Loss on another text", "Loss on stories not seen in training"}) {
      ASSERT_TRUE(positions.contains(std::string(network) + text)) << network << text;
      const auto& places = positions.at(std::string(network) + text);
      EXPECT_EQ(places.front(), 1);
      EXPECT_LE(places.back(), 32);
      EXPECT_GT(places.back(), 28);
    }
  EXPECT_THAT(read("ranges.csv"), HasSubstr("positions 11 to 32"));
  EXPECT_THAT(results.summary(), HasSubstr("not GPT-2's"));
}

TEST_F(NetworkStudies, OutOfDistributionGoesOnWhereItsFolderHasBeenMoved) {
  const Json settings = {{"other", other_text()}, {"windows", 4}};
  const auto before = folder_ / "before", now = folder_ / "now";
  const StudyResults results = run_in(before, "out-of-distribution", settings);
  std::filesystem::rename(before, now);
  const StudyResults again = run_in(now, "out-of-distribution", settings);
  ASSERT_EQ(again.points().size(), results.points().size());
  for (size_t i = 0; i < results.points().size(); ++i)
    EXPECT_EQ(again.points()[i].y, results.points()[i].y);
}

TEST_F(NetworkStudies, AttentionAveragesTheWeightsOfEveryHead) {
  const StudyResults results = run("attention", {{"sequences", 3}});
  std::map<std::string, double> sums;
  std::map<std::string, int> counts;
  for (const ResultPoint& point : results.points()) {
    sums[point.series] += point.y;
    ++counts[point.series];
  }
  // Weights times the number of positions: 1 on average, of a Mosaic over the 31 pairs stored.
  for (const char* name :
       {"Memory Mosaic, 32 tokens, head 1", "GPT, learned positions, 32 tokens, head 2",
        "GPT, RoPE, 32 tokens, head 1", "GPT, ALiBi, 32 tokens, head 1"})
    EXPECT_NEAR(sums[name] / counts[name], 1, 1e-5) << name;
  EXPECT_EQ(counts["Memory Mosaic, 32 tokens, head 1"], 31);
  EXPECT_TRUE(counts.contains("Memory Mosaic, 96 tokens, head 1"));
  EXPECT_TRUE(counts.contains("GPT, ALiBi, 96 tokens, head 2"));
  EXPECT_FALSE(counts.contains("GPT, learned positions, 96 tokens, head 1"));
  EXPECT_EQ(counts["recent weight by leaky average"], 2);
  EXPECT_THAT(results.summary(), HasSubstr("not GPT-2's"));
}

TEST_F(NetworkStudies, SmallBudgetSearchesRatesAndRepeatsSeeds) {
  const StudyResults results = run("small-budget", {{"texts", {"stories", other_text()}},
                                                    {"sizes", {8}},
                                                    {"learning_rates", {1e-3, 1e-2}},
                                                    {"seeds", 2}});
  for (const char* text : {"text-1", "text-2"})
    for (const char* network : {"gpt", "nano", "paper"}) {
      int tried = 0, reported = 0;  // two rates with seed 1, then the better with two other seeds
      for (const auto& entry : std::filesystem::directory_iterator(folder_ / text / "channels-8")) {
        const std::string name = entry.path().filename();
        if (name.starts_with(network)) ++(name.ends_with("-seed-1") ? tried : reported);
      }
      EXPECT_EQ(tried, 2) << text << network;
      EXPECT_EQ(reported, 2) << text << network;
    }
  EXPECT_EQ(results.comparisons().size(), 4u);
  EXPECT_THAT(results.summary(), HasSubstr("BabiStories, cut into GPT-2's tokens"));
  EXPECT_THAT(read("losses.csv"), HasSubstr("\"Memory Mosaic, nano\""));
  EXPECT_THAT(read("searches.csv"), HasSubstr("0.01"));
  std::filesystem::remove(folder_ / "config.toml");  // which keeps the folder to its settings
  EXPECT_THAT(refusal("small-budget", {{"seeds", 0}}),
              HasSubstr("seeds is 0, expected a whole number from 1 on"));
}

// One half of the validation text chooses the rate and the weights that are kept, the other half
// measures them.
TEST_F(NetworkStudies, SmallBudgetReportsTextByWhichNothingWasChosen) {
  run("small-budget",
      {{"texts", {other_text()}}, {"sizes", {8}}, {"learning_rates", {1e-2}}, {"seeds", 1}});
  std::filesystem::path trained;  // the GPT's training with another seed
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "text-1" / "channels-8")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("gpt") && !name.ends_with("-seed-1")) trained = entry.path();
  }
  Corpus text = prepare_corpus({.text = other_text(), .tokenizer = "byte", .vocabulary = 1024},
                               folder_ / "text-1" / "corpus", Start::kResume, nullptr);
  const auto model = load_model(trained / "model");
  const auto loss_on = [&](const TokenStream& half) {
    text.validation = half;
    return spread_of(measure_position_loss(*model, text, 2, 2, nullptr).nats).mean;
  };
  const auto [choosing, reporting] = text.validation.split_tail(0.5);
  double least = INFINITY;
  for (const auto& [step, metrics] : logged_evaluations(trained))
    least = std::min(least, metrics.at("loss"));
  EXPECT_NEAR(loss_on(choosing), least, 1e-5);
  EXPECT_THAT(read("losses.csv"), HasSubstr(fmt::format(",{:.4f},", loss_on(reporting))));
}

// Of both names only the ending has letters that a picture's file can have.
TEST_F(NetworkStudies, SmallBudgetDrawsTextsWhoseNamesAreMuchAlike) {
  const std::string one = folder_ / "ä.txt", other = folder_ / "ö.txt";
  for (const std::string& text : {one, other}) write_file(text, read_file(other_text()));
  run("small-budget",
      {{"texts", {one, other}}, {"sizes", {8}}, {"learning_rates", {1e-2}}, {"seeds", 1}});
  for (const char* text : {"text-1", "text-2"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / fmt::format("curves-{}-8-channels.svg", text)));
}

TEST_F(NetworkStudies, SmallBudgetNeedsAWindowInEachHalf) {
  EXPECT_THAT(refusal("small-budget", {{"texts", {other_text(30)}}}), HasSubstr("windows of 33"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "text-1" / "channels-64"));
}

}  // namespace
}  // namespace tessera
