#include "tessera/train/train_config.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

TEST(Schedule, GoesUpInALineAndDownAlongACosine) {
  const Schedule schedule{1.0, 0.2, 4, 12};
  const double half = 0.2 + 0.8 * 0.5, quarter = 0.2 + 0.8 * (1 + 0.7071067811865476) / 2;
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.0);  // the reference's convention: lr * it / warm-up
  EXPECT_DOUBLE_EQ(schedule.at(1), 0.25);
  EXPECT_DOUBLE_EQ(schedule.at(3), 0.75);
  EXPECT_DOUBLE_EQ(schedule.at(4), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(6), quarter);
  EXPECT_DOUBLE_EQ(schedule.at(8), half);
  EXPECT_DOUBLE_EQ(schedule.at(12), 0.2);
  EXPECT_DOUBLE_EQ(schedule.at(1000), 0.2);
}

// The three moons: 1e-2 to 5e-6 in 500 steps.
TEST(Schedule, MayFallInALine) {
  const Schedule schedule{1e-2, 5e-6, 0, 500, Decay::kLinear};
  EXPECT_DOUBLE_EQ(schedule.at(0), 1e-2);
  EXPECT_NEAR(schedule.at(1), 1e-2 - (1e-2 - 5e-6) / 500, 1e-15);
  EXPECT_NEAR(schedule.at(250), (1e-2 + 5e-6) / 2, 1e-15);
  EXPECT_EQ(schedule.at(500), 5e-6);
  EXPECT_DOUBLE_EQ((Schedule{1.0, 0.2, 4, 12, Decay::kLinear}).at(6), 0.8);  // after a warm-up
}

TEST(Schedule, WithoutWarmupStartsAtTheTop) {
  EXPECT_DOUBLE_EQ((Schedule{0.5, 0.1, 0, 10}).at(0), 0.5);
  EXPECT_DOUBLE_EQ((Schedule{0.5, 0.5, 0, 1}).at(7), 0.5);
  EXPECT_THROW((Schedule{0.5, 0.1, 0, 10}).at(-1), UsageError);
}

TEST(TrainConfig, DecaysUntilTheLastStepByDefault) {
  TrainConfig config;
  EXPECT_EQ(config.schedule().decay_steps, config.steps);
  config.decay_steps = 77;
  EXPECT_EQ(config.schedule().decay_steps, 77);
}

TEST(TrainConfig, ReachesScheduleAndOptimiser) {
  TrainConfig config;
  EXPECT_EQ(config.schedule().decay, Decay::kCosine);
  config.decay = Decay::kLinear;
  EXPECT_EQ(config.schedule().decay, Decay::kLinear);
  config.weight_decay = 0;
  config.beta2 = 0.75;
  for (const bool corrected : {true, false}) {
    config.bias_correction = corrected;
    const at::Tensor parameter = at::zeros({1}).requires_grad_(true);
    parameter.mutable_grad() = at::ones({1});
    config.make_optimizer({{"p", parameter}})->step(1.0);
    EXPECT_NEAR(parameter.item<double>(), corrected ? -1 : -0.1 / 0.5, 1e-6);
  }
}

TEST(TrainConfig, RefusesWhatMakesNoSense) {
  const auto refusal = [](auto change) {
    TrainConfig config;
    change(config);
    return test::message_of<UsageError>([&] { config.check(); });
  };
  EXPECT_EQ(refusal([](TrainConfig&) {}), "");
  EXPECT_EQ(refusal([](TrainConfig& c) { c.steps = 0; }),
            "train.steps is 0, expected a whole number from 1 on");
  EXPECT_EQ(refusal([](TrainConfig& c) { c.min_learning_rate = 1; }),
            "train.min_learning_rate is 1, expected 0 to learning_rate");
  EXPECT_EQ(refusal([](TrainConfig& c) { c.decay_steps = 100; }),
            "train.decay_steps is 100, expected more than warmup_steps, or 0 for the last step");
  EXPECT_EQ(refusal([](TrainConfig& c) { c.beta2 = 1; }),
            "train.beta2 is 1.0, expected a number from 0 to below 1");
  EXPECT_NE(refusal([](TrainConfig& c) { c.learning_rate = 0; }), "");
  EXPECT_NE(refusal([](TrainConfig& c) { c.learning_rate = NAN; }), "");
  EXPECT_NE(refusal([](TrainConfig& c) { c.weight_decay = -1; }), "");
  EXPECT_NE(refusal([](TrainConfig& c) { c.epsilon = 0; }), "");
  EXPECT_NE(refusal([](TrainConfig& c) { c.clip = INFINITY; }), "");
  EXPECT_NE(refusal([](TrainConfig& c) { c.keep_checkpoints = 0; }), "");
  EXPECT_NE(refusal([](TrainConfig& c) { c.batch = 0; }), "");
  EXPECT_NE(refusal([](TrainConfig& c) { c.accumulation = 0; }), "");
  // Times the sequences of a batch they must fit 64 bits.
  EXPECT_EQ(refusal([](TrainConfig& c) { c.accumulation = INT64_MAX; }),
            "train.accumulation is 9223372036854775807, expected a whole number from 1 to 1000000");
  EXPECT_EQ(refusal([](TrainConfig& c) { c.evaluate_batches = INT64_MAX; }),
            "train.evaluate_batches is 9223372036854775807, expected a whole number from 1 to "
            "1000000000000");
}

}  // namespace
}  // namespace tessera
