#include "tessera/train/shared_training.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "tessera/base/error.h"
#include "tessera/train/processes.h"
#include "tests/train/in_processes.h"
#include "tests/train/trainer_fixture.h"

namespace tessera {
namespace {

using test::in_processes;
using test::message_of;
using test::Recorder;
using test::TemporaryFolder;
using test::tiny_config;
using test::TinyLearner;
using test::TinyNetwork;
using testing::HasSubstr;

/// The mean square of TinyNetwork on inputs that depend on (step, micro-batch) alone: threads of
/// one process share LibTorch's generator.
struct CountedLearner : TinyLearner {
  CountedLearner(TinyNetwork& network, const TrainConfig& config) : TinyLearner(network, config) {
    loss_of = [&network](int64_t step, int64_t micro_batch) {
      const at::Tensor x = at::arange(8, at::kFloat).view({2, 4}).add(step + 3 * micro_batch).sin();
      const at::Tensor hidden = at::tanh(network.gain * x.matmul(network.first.t()));
      return hidden.matmul(network.second.t()).sub(0.5).square().mean();
    };
  }
};

TrainConfig counted_config() {
  TrainConfig config = tiny_config();
  config.accumulation = 4;
  config.evaluate_every = config.sample_every = 0;
  return config;
}

/// What came of a training.
struct Outcome {
  std::vector<double> losses;          // of the updates that were made
  std::vector<at::Tensor> parameters;  // in the end, of each process
};

Outcome train_with(int64_t count, const TrainConfig& config, const std::filesystem::path& folder,
                   Start start = Start::kNew) {
  Outcome trained;
  trained.parameters.resize(count);
  in_processes(count, [&](Processes& processes) {
    TinyNetwork network;
    CountedLearner learner(network, config);
    if (processes.leads()) {
      Recorder recorder;
      Trainer(learner, folder, &recorder, &processes).run(start);
      for (const StepMetrics& step : recorder.steps) trained.losses.push_back(step.loss);
    } else {
      network.first.detach().zero_();  // the leader's count
      help_training(learner, processes);
    }
    trained.parameters[processes.rank()] = test::weights_of(network);
  });
  return trained;
}

void expect_near(const Outcome& found, const Outcome& expected, double tolerance) {
  ASSERT_EQ(found.losses.size(), expected.losses.size());
  for (size_t i = 0; i < found.losses.size(); ++i)
    EXPECT_NEAR(found.losses[i], expected.losses[i], tolerance) << i;
  for (const at::Tensor& parameters : found.parameters) {
    EXPECT_TRUE(parameters.equal(found.parameters.front()));
    EXPECT_LE((parameters - expected.parameters.front()).abs().max().item<double>(), tolerance);
  }
}

std::map<std::string, at::Tensor> last_checkpoint(const std::filesystem::path& run) {
  return Checkpoint::load(Checkpoints(run / "checkpoints", 1).paths().back()).file.tensors;
}

TEST(HelpTraining, SharesUpdatesThatAreThoseOfOneProcess) {
  const TemporaryFolder folder;
  const Outcome alone = train_with(1, counted_config(), folder / "1");
  for (const int64_t count : {2, 4})
    expect_near(train_with(count, counted_config(), folder / std::to_string(count)), alone, 1e-6);
}

TEST(HelpTraining, SharesTheOptimizerWithoutAnotherResult) {
  const TemporaryFolder folder;
  for (const auto optimizer : {OptimizerKind::kAdamW, OptimizerKind::kRmsprop}) {
    const auto run = [&](const char* what) {
      return folder / (what + std::to_string(static_cast<int>(optimizer)));
    };
    TrainConfig config = counted_config();
    config.optimizer = optimizer;
    config.clip_value = 0.5;
    const Outcome whole = train_with(2, config, run("whole"));
    config.share_optimizer = true;
    expect_near(train_with(2, config, run("shared")), whole, 0.0);
    const auto expected = last_checkpoint(run("whole")), found = last_checkpoint(run("shared"));
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, tensor] : expected) EXPECT_TRUE(found.at(name).equal(tensor)) << name;
  }
}

TEST(HelpTraining, GoesOnFromASharedOptimizerWithAnyNumberOfProcesses) {
  const TemporaryFolder folder;
  TrainConfig config = counted_config();
  config.share_optimizer = true;
  const Outcome whole = train_with(2, config, folder / "whole");
  for (const int64_t count : {1, 2, 4}) {
    const auto run = folder / std::to_string(count);
    TrainConfig first = config;
    first.steps = 5;
    first.decay_steps = config.steps;
    train_with(2, first, run);
    Outcome second = train_with(count, config, run, Start::kResume);
    second.losses.insert(second.losses.begin(), whole.losses.begin(), whole.losses.begin() + 5);
    expect_near(second, whole, count == 2 ? 0.0 : 1e-6);
  }
}

TEST(HelpTraining, SendsGradientsInBfloat16) {
  const TemporaryFolder folder;
  const Outcome exact = train_with(2, counted_config(), folder / "fp32");
  TrainConfig config = counted_config();
  config.wire_precision = WirePrecision::kBFloat16;
  const Outcome rounded = train_with(2, config, folder / "bf16");
  expect_near(rounded, exact, 0.02);
  EXPECT_NE(rounded.losses, exact.losses);
}

TEST(HelpTraining, EndsWhereTheTrainingDiverges) {
  const TemporaryFolder folder;
  const auto train = [&](bool share, const char* what, const auto& spoilt) {
    TrainConfig config = counted_config();
    config.share_optimizer = share;
    in_processes(2, [&](Processes& processes) {
      TinyNetwork network;
      CountedLearner learner(network, config);
      learner.loss_of = [&, loss = learner.loss_of](int64_t step, int64_t micro_batch) {
        const at::Tensor right = loss(step, micro_batch);
        return step == 3 ? spoilt(right) : right;
      };
      if (!processes.leads()) return help_training(learner, processes);
      Trainer trainer(learner, folder / (what + std::to_string(share)), nullptr, &processes);
      EXPECT_THAT(message_of<Diverged>([&] { trainer.run(Start::kNew); }), HasSubstr(what));
    });
  };
  for (const bool share : {false, true}) {
    train(share, "the loss is infinite",
          [](const at::Tensor& loss) { return loss * std::numeric_limits<float>::infinity(); });
    train(share, "the gradient of", [](const at::Tensor& loss) { return (loss * 0).sqrt(); });
  }
}

TEST(SharedOptimizer, KeepsEachStateOnce) {
  in_processes(3, [](Processes& processes) {
    TinyNetwork network;
    const auto optimizer = counted_config().make_optimizer(trainable_parameters(network));
    int64_t all = 0;
    for (const auto& [name, tensor] : optimizer->state()) all += tensor.numel();
    optimizer->share(processes);
    // The leader's state() has copies of all, those of the others what they keep.
    const at::Tensor kept = at::zeros({1}, at::kLong);
    for (const auto& [name, tensor] : optimizer->state())
      if (tensor.defined() && !processes.leads()) kept.add_(tensor.numel());
    processes.sum({kept});
    EXPECT_EQ(all, 2 * (6 * 4 + 3 * 6 + 6));
    EXPECT_EQ(kept.item<int64_t>(), 2 * (3 * 6 + 6));  // the longest matrix is the leader's
  });
}

TEST(HelpTraining, RefusesSharesThatAreNotEven) {
  TrainConfig config = tiny_config();
  config.accumulation = 3;
  TinyNetwork network;
  const TinyLearner learner(network, config);
  EXPECT_THAT(message_of<UsageError>([&] { learner.check_shares(2); }),
              HasSubstr("train.accumulation is 3, expected a multiple of the 2 processes"));
  learner.check_shares(3);
}

}  // namespace
}  // namespace tessera
