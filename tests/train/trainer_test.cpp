#include "tessera/train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tessera/base/error.h"
#include "tessera/train/metrics_log.h"
#include "tests/train/trainer_fixture.h"

namespace tessera {
namespace {

using test::message_of;
using test::Recorder;
using test::task_with_losses;
using test::tiny_task;
using test::TinyNetwork;
using test::TrainerTest;
using test::weights_of;
using testing::HasSubstr;

TEST_F(TrainerTest, DoesEverythingInItsTurn) {
  Recorder recorder;
  config.steps = 10;
  TinyNetwork network;
  const auto result =
      Trainer(config, tiny_task(network), folder / "run", &recorder).run(Start::kNew);
  // Checkpoints (c) at 3, 6, 9, at the end and at every evaluation (e) that is the best so far.
  EXPECT_THAT(recorder.events, testing::MatchesRegex("<0 1 2 3c 4ec 5s 6c 7 8ec? 9c 10esc"));
  EXPECT_EQ(result.step, 10);
  EXPECT_EQ(result.loss, recorder.steps.back().loss);
  EXPECT_TRUE(result.best_validation_loss.has_value());
  EXPECT_EQ(recorder.steps[0].learning_rate, 0.0);
  EXPECT_EQ(recorder.steps[3].learning_rate, 0.05);
  EXPECT_EQ(recorder.steps[9].tokens, 400);
  EXPECT_TRUE(network.is_training());
}

TEST_F(TrainerTest, SamplesStandInTheLog) {
  TinyNetwork network;
  TrainingTask task = tiny_task(network);
  task.sample = [&](int64_t step) -> std::string {
    EXPECT_FALSE(network.is_training());
    if (step == 5) throw Interrupted("a signal came");
    return fmt::format("after {}: \xff", step);
  };
  Recorder recorder;
  Trainer(config, task, folder / "run", &recorder).run(Start::kNew);
  std::vector<std::string> samples;
  for (const auto& line : MetricsLog::read(folder / "run" / "metrics.jsonl"))
    if (line["kind"] == "sample") samples.push_back(line.dump());
  // A byte that is no text is U+FFFD.
  EXPECT_THAT(samples, testing::ElementsAre("{\"kind\":\"sample\",\"step\":10,"
                                            "\"text\":\"after 10: \ufffd\"}"));
  EXPECT_EQ(std::ranges::count(recorder.events, 's'), 1);
}

TEST_F(TrainerTest, LearnsWhatThereIsToLearn) {
  config.steps = 150;
  config.clip = 0;
  Recorder recorder;
  train("run", Start::kNew, &recorder);
  EXPECT_LT(recorder.steps.back().loss, 0.7 * recorder.steps.front().loss);
}

// A reward with a minus sign is such a loss.
TEST_F(TrainerTest, ALossBelowZeroChangesNothingByItself) {
  config.evaluate_every = 1;
  config.warmup_steps = 0;
  config.min_learning_rate = config.learning_rate;
  config.steps = 3;
  TinyNetwork network;
  Recorder recorder;
  Trainer(config, task_with_losses(network, {-1, -2, -3}), folder / "run", &recorder)
      .run(Start::kNew);
  ASSERT_EQ(recorder.steps.size(), 3u);
  EXPECT_EQ(recorder.steps.back().learning_rate, config.learning_rate);
}

TEST_F(TrainerTest, HalvesTheLearningRateForGoodOnceTheLossIsLow) {
  config.warmup_steps = 0;
  config.min_learning_rate = config.learning_rate;
  config.evaluate_every = 1;
  config.halve_loss = 0.5;
  const double losses[] = {0.7, 0.5, 0.4, 0.9};  // after steps 1 to 4
  const auto rates = [&](int64_t steps, Start start) {
    TinyNetwork network;
    TrainingTask task = tiny_task(network);
    Recorder recorder;
    config.steps = steps;
    task.evaluate = [&] {
      return Metrics{{"loss", losses[static_cast<size_t>(recorder.steps.back().step - 1)]}};
    };
    Trainer(config, task, folder / "run", &recorder).run(start);
    std::vector<double> found;
    for (const auto& step : recorder.steps) found.push_back(step.learning_rate);
    return found;
  };
  const double rate = config.learning_rate;
  EXPECT_THAT(rates(3, Start::kNew), testing::ElementsAre(rate, rate, rate));
  EXPECT_THAT(rates(4, Start::kResume), testing::ElementsAre(rate / 2));
}

TEST_F(TrainerTest, AccumulationIsTheMeanOfItsMicroBatches) {
  config.steps = 1;
  config.warmup_steps = 0;
  config.decay_steps = 1;
  TinyNetwork network;
  const auto task = [&](std::vector<double> factors) {
    return TrainingTask{network,
                        [&network, factors](int64_t, int64_t micro_batch) {
                          return network.gain.sum() * factors[static_cast<size_t>(micro_batch)];
                        },
                        {},
                        {},
                        1,
                        ""};
  };
  Recorder recorder;
  config.accumulation = 2;
  Trainer(config, task({1.0, 3.0}), folder / "two", &recorder).run(Start::kNew);
  EXPECT_DOUBLE_EQ(recorder.steps[0].loss, 12.0);  // 6 gains of 1, times 2
  EXPECT_NEAR(recorder.steps[0].gradient_norm, 2.0 * std::sqrt(6.0), 1e-12);
}

/// How often the values of tensors were read from their device during a training.
int64_t reads_while(const std::function<void()>& training) {
  static int64_t reads;
  reads = 0;
  const auto handle =
      at::addGlobalCallback(at::RecordFunctionCallback([](const at::RecordFunction& function)
                                                           -> std::unique_ptr<at::ObserverContext> {
                              reads +=
                                  std::string_view(function.name()) == "aten::_local_scalar_dense";
                              return nullptr;
                            }).scopes({at::RecordScope::FUNCTION}));
  training();
  at::removeCallback(handle);
  return reads;
}

TEST_F(TrainerTest, ReadsTheLossOnceAStepHoweverManyMicroBatchesThereAre) {
  config.evaluate_every = 0;
  config.sample_every = 0;
  const auto reads = [&](int64_t accumulation) {
    config.accumulation = accumulation;
    return reads_while([&] { train(std::to_string(accumulation), Start::kNew); });
  };
  EXPECT_EQ(reads(4), reads(1));
}

TEST_F(TrainerTest, EndsWhenPatienceDoes) {
  config.patience = 2;
  config.evaluate_every = 1;
  TinyNetwork network;
  // The best is the third; the two after it are worse. The sixth is never asked for.
  const auto task = task_with_losses(network, {3, 4, 2, 2.5, 2});
  const auto result = Trainer(config, task, folder / "run").run(Start::kNew);
  EXPECT_EQ(result.step, 5);
  EXPECT_EQ(result.best_validation_loss, 2);
  EXPECT_EQ(
      Checkpoint::load(Checkpoints(folder / "run" / "checkpoints", 1).paths().back()).state.step,
      5);
  // There is nothing left to do for a resumed run either.
  const auto again =
      Trainer(config, task_with_losses(network, {}), folder / "run").run(Start::kResume);
  EXPECT_EQ(again.step, 5);
  EXPECT_EQ(again.best_validation_loss, 2);
}

TEST_F(TrainerTest, EndsWhenTheLossIsLowEnough) {
  config.stop_loss = 0.5;
  config.evaluate_every = 2;
  TinyNetwork network;
  const auto result =
      Trainer(config, task_with_losses(network, {3, 0.6, 0.5}), folder / "run").run(Start::kNew);
  EXPECT_EQ(result.step, 6);
}

TEST_F(TrainerTest, StopsBeforeAnUpdateThatIsNotFinite) {
  TinyNetwork network;
  TrainingTask task = tiny_task(network);
  const auto loss = task.loss;
  task.loss = [&](int64_t step, int64_t micro_batch) {
    return loss(step, micro_batch) * (step == 7 && micro_batch == 1 ? NAN : 1.0);
  };
  EXPECT_THAT(
      message_of<Diverged>([&] { Trainer(config, task, folder / "loss").run(Start::kNew); }),
      testing::AllOf(HasSubstr("step 8: the loss is not a number (NaN)"),
                     HasSubstr("Try a smaller train.learning_rate"),
                     HasSubstr("step-00000006.safetensors")));
  EXPECT_TRUE(at::isfinite(weights_of(network)).all().item<bool>());
  EXPECT_EQ(logged_steps("loss").size(), 7u);
  // What made it fail is gone: the run goes on as if nothing had been.
  EXPECT_TRUE(train("loss", Start::kResume).equal(train("whole", Start::kNew)));

  // sqrt(0) has a finite value and a gradient that is not.
  TinyNetwork other;
  TrainingTask rooted = tiny_task(other);
  rooted.loss = [&](int64_t, int64_t) { return (other.gain * 0).abs().sqrt().sum(); };
  EXPECT_THAT(
      message_of<Diverged>([&] { Trainer(config, rooted, folder / "root").run(Start::kNew); }),
      testing::AllOf(HasSubstr("step 1: the gradient of 'gain' is infinite or not a number"),
                     HasSubstr("There is no checkpoint yet")));
}

TEST_F(TrainerTest, RefusesALossThatIsNone) {
  TinyNetwork network;
  TrainingTask task = tiny_task(network);
  task.loss = [&](int64_t, int64_t) { return network.gain * 1; };
  EXPECT_THROW(Trainer(config, task, folder / "a").run(Start::kNew), UsageError);
  task.loss = [&](int64_t, int64_t) { return at::scalar_tensor(1.0); };
  EXPECT_THROW(Trainer(config, task, folder / "b").run(Start::kNew), UsageError);
  config.steps = 0;
  EXPECT_THROW(Trainer(config, task, folder / "c"), UsageError);
}

TEST_F(TrainerTest, FrozenParametersStayAndAreSaved) {
  TinyNetwork network;
  network.first.requires_grad_(false);
  const at::Tensor before = network.first.clone();
  Trainer(config, tiny_task(network), folder / "run").run(Start::kNew);
  EXPECT_TRUE(network.first.equal(before));
  const auto best = Checkpoints(folder / "run/checkpoints", 1).best();
  ASSERT_TRUE(best.has_value());
  EXPECT_TRUE(Checkpoint::load(*best).file.at("first", {6, 4}).equal(before));
}

}  // namespace
}  // namespace tessera
