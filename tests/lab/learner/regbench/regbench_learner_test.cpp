#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/learner/regbench/regbench_learner.h"
#include "tessera/base/error.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/train/learner.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;
using test::TemporaryFolder;
using testing::HasSubstr;

RegBenchTrainingConfig small_training() {
  return {.task = {.letters = 4,
                   .max_alphabet = 4,
                   .max_states = 4,
                   .max_edges = 2,
                   .min_strings = 3,
                   .max_strings = 4,
                   .max_length = 5},
          .data = {.languages = 8, .held_out = 6},
          .model = {{"kind", "memory_mosaic"},
                    {"layers", 1},
                    {"heads", 2},
                    {"channels", 16},
                    {"persistent_slots", 8}},
          .train = {.steps = 60,
                    .batch = 4,
                    .learning_rate = 0.02,
                    .min_learning_rate = 0.02,
                    .warmup_steps = 0,
                    .weight_decay = 0,
                    .evaluate_every = 20,
                    .evaluate_batches = 2,
                    .checkpoint_every = 10,
                    .seed = 3}};
}

Trained train(const RegBenchTrainingConfig& config, const std::filesystem::path& folder) {
  RegBenchLearner learner(config);
  return tessera::train(learner, RunFolder(folder, Start::kNew), nullptr, "");
}

TEST(RegBenchTraining, LearnsTheTrainingLanguagesAndSavesTheModel) {
  const TemporaryFolder folder;
  RegBenchTrainingConfig config = small_training();
  config.task.min_strings = 8;
  config.task.max_strings = 9;
  config.data.measured_on = MeasuredOn::kTrainedLanguages;
  config.train.steps = 150;
  const Trained trained = train(config, folder / "run");
  EXPECT_EQ(trained.steps, 150);
  EXPECT_LT(trained.validation_loss(), 1.2);  // a guess costs ln 6 = 1.79
  EXPECT_GT(trained.test.at("accuracy"), 0.6);
  EXPECT_LT(trained.test.at("distance"), 0.6);
  const auto loaded = load_sequence_model(folder / "run" / "model");
  auto& model = dynamic_cast<LanguageModel&>(*loaded);
  EXPECT_EQ(model.vocabulary(), 6);
  EXPECT_EQ(model.window(), 9 * 6 - 1);
  RegBenchScore again;
  for (const std::vector<int64_t>& automata : {std::vector<int64_t>{0, 1, 2, 3}, {4, 5}}) {
    const RegBenchBatch batch =
        make_regbench_batch(RegBench(config.task), config.set(Split::kTest), automata);
    again += score_regbench(model.logits(model.hidden(batch.inputs)).detach(), batch);
  }
  EXPECT_EQ(again.accuracy(), trained.test.at("accuracy"));
}

TEST(RegBenchTraining, SplitsShareNothingButLanguagesWhereTheyAreMeant) {
  RegBenchTrainingConfig config = small_training();
  const auto training = config.set(Split::kTraining), fresh = config.set(Split::kTest);
  EXPECT_NE(fresh.automata, training.automata);
  EXPECT_NE(fresh.sequences, training.sequences);
  config.data.measured_on = MeasuredOn::kTrainedLanguages;
  const auto known = config.set(Split::kTest);
  EXPECT_EQ(known.automata, config.set(Split::kTraining).automata);
  EXPECT_NE(known.sequences, config.set(Split::kTraining).sequences);
  EXPECT_NE(known.sequences, config.set(Split::kValidation).sequences);
}

TEST(RegBenchTraining, RefusesWhatItCannotTrain) {
  const TemporaryFolder folder;
  const auto message = [&](const auto& change) {
    RegBenchTrainingConfig config = small_training();
    change(config);
    return message_of<UsageError>([&] { train(config, folder / "run"); });
  };
  EXPECT_THAT(message([](auto& config) { config.data.languages = 3; }),
              HasSubstr("data.languages"));
  EXPECT_THAT(message([](auto& config) { config.data.held_out = 0; }), HasSubstr("data.held_out"));
  EXPECT_THAT(message([](auto& config) {
                config.data.measured_on = MeasuredOn::kTrainedLanguages;
                config.data.held_out = 9;
              }),
              HasSubstr("data.held_out is 9"));
  EXPECT_THAT(message([](auto& config) { config.model["window"] = 5; }),
              HasSubstr("model.window is 5, but the task has 23"));
  EXPECT_THAT(message([](auto& config) { config.model["heads"] = 3; }), HasSubstr("model.heads"));
  EXPECT_THAT(message([](auto& config) { config.model.erase("kind"); }), HasSubstr("'kind'"));
  EXPECT_THAT(message([](auto& config) { config.model["kind"] = "memory-mosaic"; }),
              HasSubstr("did you mean 'memory_mosaic'?"));
  EXPECT_THAT(message_of<UsageError>([] {
                RegBenchTrainingConfig::from_json({{"modle", 1}}, "test");
              }),
              HasSubstr("did you mean 'model'?"));
}

}  // namespace
}  // namespace tessera::task
