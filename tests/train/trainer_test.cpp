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
using test::TinyLearner;
using test::TinyNetwork;
using test::TrainerTest;
using test::weights_of;
using testing::HasSubstr;

TEST_F(TrainerTest, DoesEverythingInItsTurn) {
  Recorder recorder;
  config.steps = 10;
  TinyNetwork network;
  TinyLearner learner(network, config);
  const auto result = run(learner, "run", Start::kNew, &recorder);
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
  TinyLearner learner(network, config);
  learner.sample_after = [&](int64_t step) -> std::string {
    EXPECT_FALSE(network.is_training());
    if (step == 5) throw Interrupted("a signal came");
    return fmt::format("after {}: \xff", step);
  };
  Recorder recorder;
  run(learner, "run", Start::kNew, &recorder);
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
  Recorder recorder;
  run_with_losses({-1, -2, -3}, "run", Start::kNew, &recorder);
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
    Recorder recorder;
    config.steps = steps;
    TinyLearner learner(network, config);
    learner.evaluation = [&] { return Metrics{{"loss", losses[recorder.steps.back().step - 1]}}; };
    run(learner, "run", start, &recorder);
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
  config.accumulation = 2;
  TinyLearner learner(network, config);
  learner.loss_of = [&network](int64_t, int64_t micro_batch) {
    return network.gain.sum() * (micro_batch == 0 ? 1.0 : 3.0);
  };
  Recorder recorder;
  run(learner, "two", Start::kNew, &recorder);
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
  // The best is the third; the two after it are worse. The sixth is never asked for.
  const auto result = run_with_losses({3, 4, 2, 2.5, 2}, "run", Start::kNew);
  EXPECT_EQ(result.step, 5);
  EXPECT_EQ(result.best_validation_loss, 2);
  EXPECT_EQ(result.early_end, "no lower validation loss, train.patience = 2");
  EXPECT_EQ(
      Checkpoint::load(Checkpoints(folder / "run" / "checkpoints", 1).paths().back()).state.step,
      5);
  // There is nothing left to do for a resumed run either.
  const auto again = run_with_losses({}, "run", Start::kResume);
  EXPECT_EQ(again.step, 5);
  EXPECT_EQ(again.best_validation_loss, 2);
}

TEST_F(TrainerTest, EndsWhenTheLossIsLowEnough) {
  config.stop_loss = 0.5;
  config.evaluate_every = 2;
  const auto result = run_with_losses({3, 0.6, 0.5}, "run", Start::kNew);
  EXPECT_EQ(result.step, 6);
  EXPECT_EQ(result.early_end, "the validation loss, 0.5, has reached train.stop_loss, 0.5");
}

TEST_F(TrainerTest, StopsBeforeAnUpdateThatIsNotFinite) {
  TinyNetwork network;
  TinyLearner learner(network, config);
  learner.loss_of = [&, loss = learner.loss_of](int64_t step, int64_t micro_batch) {
    return loss(step, micro_batch) * (step == 7 && micro_batch == 1 ? NAN : 1.0);
  };
  EXPECT_THAT(message_of<Diverged>([&] { run(learner, "loss", Start::kNew); }),
              testing::AllOf(HasSubstr("step 8: the loss is not a number (NaN)"),
                             HasSubstr("Try a smaller train.learning_rate"),
                             HasSubstr("step-00000006.safetensors")));
  EXPECT_TRUE(at::isfinite(weights_of(network)).all().item<bool>());
  EXPECT_EQ(logged_steps("loss").size(), 7u);
  // What made it fail is gone: the run goes on as if nothing had been.
  EXPECT_TRUE(train("loss", Start::kResume).equal(train("whole", Start::kNew)));

  // sqrt(0) has a finite value and a gradient that is not.
  TinyNetwork other;
  TinyLearner rooted(other, config);
  rooted.loss_of = [&](int64_t, int64_t) { return (other.gain * 0).abs().sqrt().sum(); };
  EXPECT_THAT(
      message_of<Diverged>([&] { run(rooted, "root", Start::kNew); }),
      testing::AllOf(HasSubstr("step 1: the gradient of 'gain' is infinite or not a number"),
                     HasSubstr("There is no checkpoint yet")));

  config.clip_value = 1;  // would make it finite
  TinyLearner clipped(other, config);
  clipped.loss_of = rooted.loss_of;
  EXPECT_THAT(message_of<Diverged>([&] { run(clipped, "clipped", Start::kNew); }),
              HasSubstr("the gradient of 'gain'"));
}

TEST_F(TrainerTest, ReportsTheNormOfTheGradientBeforeItIsClipped) {
  Recorder whole, clipped;
  train("whole", Start::kNew, &whole);
  config.clip_value = 1e-6;
  train("clipped", Start::kNew, &clipped);
  EXPECT_GT(whole.steps[0].gradient_norm, 1e-3);
  EXPECT_EQ(clipped.steps[0].gradient_norm, whole.steps[0].gradient_norm);
}

TEST_F(TrainerTest, RefusesALossThatIsNone) {
  TinyNetwork network;
  TinyLearner learner(network, config);
  learner.loss_of = [&](int64_t, int64_t) { return network.gain * 1; };
  EXPECT_THROW(run(learner, "a", Start::kNew), UsageError);
  learner.loss_of = [&](int64_t, int64_t) { return at::scalar_tensor(1.0); };
  EXPECT_THROW(run(learner, "b", Start::kNew), UsageError);
  config.steps = 0;
  EXPECT_THROW(TinyLearner(network, config), UsageError);
}

TEST_F(TrainerTest, FrozenParametersStayAndAreSaved) {
  TinyNetwork network;
  network.first.requires_grad_(false);
  const at::Tensor before = network.first.clone();
  TinyLearner learner(network, config);
  run(learner, "run", Start::kNew);
  EXPECT_TRUE(network.first.equal(before));
  const auto best = Checkpoints(folder / "run/checkpoints", 1).best_path();
  ASSERT_TRUE(best.has_value());
  EXPECT_TRUE(Checkpoint::load(*best).file.at("first", {6, 4}).equal(before));
}

}  // namespace
}  // namespace tessera
