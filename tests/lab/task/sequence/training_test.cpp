#include "lab/task/sequence/training.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "lab/task/sequence/training_report.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/train/metrics_log.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using config::Json;
using test::message_of;
using test::TemporaryFolder;
using testing::HasSubstr;

/// Copying one or two vectors of three bits with a tiny two-memory model, within a second.
Json small_copy() {
  return {{"task", {{"name", "copy"}, {"bits", 3}, {"max_length", 2}}},
          {"model",
           {{"kind", "stm"},
            {"slots", 2},
            {"width", 6},
            {"distilled", 6},
            {"readout", 8},
            {"hidden", 12}}},
          {"data", {{"training_samples", 16}, {"test_samples", 40}}},
          {"train",
           {{"steps", 60},
            {"batch", 16},
            {"optimizer", "adamw"},
            {"learning_rate", 0.02},
            {"min_learning_rate", 0.02},
            {"weight_decay", 0},
            {"evaluate_every", 20},
            {"evaluate_batches", 2},
            {"checkpoint_every", 10}}}};
}

TaskTrainingConfig config_of(const Json& json) {
  return TaskTrainingConfig::from_json(json, "test");
}

TrainedOnTask train(const Json& json, const std::filesystem::path& folder, Start start) {
  return train_on_task(config_of(json), RunFolder(folder, start), nullptr, "");
}

double last_training_loss(const std::filesystem::path& folder) {
  double loss = NAN;
  for (const auto& line : MetricsLog::read(folder / "metrics.jsonl"))
    if (line.at("kind") == "step") loss = line.at("loss");
  return loss;
}

bool equal_parameters(const SequenceModel& a, const SequenceModel& b) {
  for (const auto& item : a.named_parameters())
    if (!item.value().equal(b.named_parameters()[item.key()])) return false;
  return true;
}

TEST(TaskTraining, LearnsASmallSetByHeartAndSavesTheModel) {
  const TemporaryFolder folder;
  Json json = small_copy();
  json["train"]["steps"] = 400;
  json["train"]["learning_rate"] = 0.01;
  json["train"]["min_learning_rate"] = 0.001;
  const TrainedOnTask trained = train(json, folder / "run", Start::kNew);
  EXPECT_LT(last_training_loss(folder / "run"), 0.2);  // a guess costs ln 2 = 0.69
  EXPECT_EQ(trained.steps, 400);
  EXPECT_GT(trained.seconds, 0);
  EXPECT_EQ(trained.test.sequences, 40);
  const auto loaded = load_sequence_model(folder / "run" / "model");
  EXPECT_TRUE(equal_parameters(*loaded, *trained.model));
  EXPECT_TRUE(std::filesystem::exists(folder / "run" / "manifest.json"));
  const Json written = config::read_toml(folder / "run" / "config.toml");
  EXPECT_EQ(written["model"]["inputs"], 5);
  EXPECT_EQ(written["model"]["outputs"], 3);
}

TEST(TaskTraining, TokensPassAnEmbedding) {
  const TemporaryFolder folder;
  Json json = small_copy();
  json["task"] = {{"name", "associative-retrieval"}, {"pairs", 2}, {"keys", 3}};
  json["model"]["inputs"] = 6;
  json["train"]["steps"] = 3;
  const TrainedOnTask trained = train(json, folder / "run", Start::kNew);
  EXPECT_EQ(trained.model->kind(), "embedded");
  EXPECT_EQ(trained.model->named_parameters()["embedding"].sizes(), at::IntArrayRef({14, 6}));
  // Its own configuration file continues the run.
  const auto again =
      train(config::read_toml(folder / "run" / "config.toml"), folder / "run", Start::kResume);
  EXPECT_EQ(again.test, trained.test);
}

// Vectors of length 1 alone are learnt; the test has both lengths.
TEST(TaskTraining, MayPractiseOnAnotherTask) {
  const TemporaryFolder folder;
  Json json = small_copy();
  json["training_task"] = {{"max_length", 1}};
  const TrainedOnTask easier = train(json, folder / "easier", Start::kNew);
  const TrainedOnTask same = train(small_copy(), folder / "same", Start::kNew);
  EXPECT_EQ(easier.test.symbols, same.test.symbols);
  EXPECT_FALSE(equal_parameters(*easier.model, *same.model));
}

TEST(TaskTraining, ARunInPiecesIsTheWholeRun) {
  const TemporaryFolder folder;
  const TrainedOnTask whole = train(small_copy(), folder / "whole", Start::kNew);
  Json json = small_copy();
  json["train"]["steps"] = 25;
  train(json, folder / "pieces", Start::kNew);
  json["train"]["steps"] = 60;
  const TrainedOnTask pieces = train(json, folder / "pieces", Start::kResume);
  EXPECT_TRUE(equal_parameters(*pieces.model, *whole.model));
  EXPECT_EQ(pieces.test, whole.test);
}

TEST(TaskTraining, ASignalLeavesARunThatGoesOn) {
  const TemporaryFolder folder;
  {
    const InterruptGuard guard;
    std::raise(SIGINT);
    EXPECT_THROW(train(small_copy(), folder / "run", Start::kNew), Interrupted);
  }
  EXPECT_EQ(train(small_copy(), folder / "run", Start::kResume).steps, 60);
}

TEST(TaskTraining, ARunGoesOnOnlyAsItBegan) {
  const TemporaryFolder folder;
  Json json = small_copy();
  json["train"]["steps"] = 2;
  train(json, folder / "run", Start::kNew);
  json["train"]["learning_rate"] = 0.03;
  EXPECT_THAT(message_of<UsageError>([&] { train(json, folder / "run", Start::kResume); }),
              HasSubstr("train.learning_rate = 0.02, now it is 0.03"));
}

TEST(TaskTraining, EndsWhenTheLossIsLowEnough) {
  const TemporaryFolder folder;
  Json json = small_copy();
  json["train"]["stop_loss"] = 5;  // any
  EXPECT_EQ(train(json, folder / "run", Start::kNew).steps, 20);
}

TEST(TaskTraining, NamesTheNestedKeyThatDiffers) {
  const TemporaryFolder folder;
  Json json = small_copy();
  json["train"]["steps"] = 2;
  train(json, folder / "run", Start::kNew);
  json["model"]["alpha1"] = {{"value", 0.5}};
  EXPECT_THAT(message_of<UsageError>([&] { train(json, folder / "run", Start::kResume); }),
              HasSubstr("model.alpha1.value = 0.0, now it is 0.5"));
}

TEST(TaskTrainingConfig, RefusesWhatMakesNoTraining) {
  const auto refusal = [](auto change) {
    Json json = small_copy();
    change(json);
    return message_of<UsageError>([&] { config_of(json); });
  };
  EXPECT_EQ(refusal([](Json&) {}), "");
  EXPECT_THAT(refusal([](Json& json) { json["models"] = 1; }), HasSubstr("did you mean 'model'?"));
  EXPECT_THAT(refusal([](Json& json) { json["task"] = 5; }), HasSubstr("task is 5"));
  EXPECT_THAT(refusal([](Json& json) { json["task"]["name"] = "copi"; }), HasSubstr("'copy'"));
  EXPECT_THAT(refusal([](Json& json) { json["task"]["bit"] = 4; }), HasSubstr("'bits'"));
  EXPECT_THAT(refusal([](Json& json) { json["model"] = Json::object(); }), HasSubstr("'kind'"));
  EXPECT_THAT(refusal([](Json& json) { json["model"]["kind"] = "gpt"; }),
              HasSubstr("does not read vectors"));
  EXPECT_THAT(refusal([](Json& json) { json["model"]["inputs"] = 34; }),
              HasSubstr("model.inputs is 34, but the task has 5"));
  EXPECT_THAT(refusal([](Json& json) { json["model"]["outputs"] = 34; }),
              HasSubstr("model.outputs is 34, but the task has 3"));
  EXPECT_THAT(refusal([](Json& json) { json["model"]["width"] = 0; }), HasSubstr("model.width"));
  EXPECT_THAT(refusal([](Json& json) { json["data"]["training_samples"] = 15; }),
              HasSubstr("at least train.batch"));
  EXPECT_THAT(refusal([](Json& json) { json["data"]["test_samples"] = 0; }),
              HasSubstr("data.test_samples"));
  EXPECT_EQ(refusal([](Json& json) { json["training_task"] = {{"max_length", 1}}; }), "");
  EXPECT_THAT(refusal([](Json& json) {
                json["training_task"] = {{"bits", 4}};
              }),
              HasSubstr("other widths"));
  EXPECT_THAT(refusal([](Json& json) {
                json["training_task"] = {{"name", "copy"}};
              }),
              HasSubstr("without a name"));
  EXPECT_THAT(refusal([](Json& json) { json["train"]["sample_every"] = 3; }),
              HasSubstr("train.sample_every"));
}

// Two runs with scores 10 and 14 wrong bits per sequence.
TEST(TaskResults, AverageOverRuns) {
  TrainedRuns model{"STM", std::vector<TrainedOnTask>(2)};
  model.runs[0].test = {.sequences = 10, .symbols = 1000, .wrong_symbols = 100};
  model.runs[1].test = {.sequences = 10, .symbols = 1000, .wrong_symbols = 140};
  const MeanScore bits = model.test_score(TargetKind::kBits);
  EXPECT_DOUBLE_EQ(bits.mean, 12);
  EXPECT_DOUBLE_EQ(bits.deviation, std::sqrt(8));
  EXPECT_DOUBLE_EQ(model.test_score(TargetKind::kClasses).mean, 88);
}

}  // namespace
}  // namespace tessera::task
