#include "tessera/train/trainer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cmath>
#include <csignal>
#include <stdexcept>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/train/run_folder.h"
#include "tests/train/trainer_fixture.h"

namespace tessera {
namespace {

using test::evaluations_with;
using test::message_of;
using test::Recorder;
using test::timeless_lines;
using test::TinyLearner;
using test::TinyNetwork;
using test::TrainerTest;
using test::weights_of;
using testing::HasSubstr;

TEST_F(TrainerTest, ResumesBitForBitAfterAnInterruptAtAnyStep) {
  for (int64_t accumulation : {1, 2}) {
    config.accumulation = accumulation;
    const std::string whole = "whole" + std::to_string(accumulation);
    const at::Tensor expected = train(whole, Start::kNew);
    for (int64_t step = 1; step < config.steps; ++step) {
      const std::string name = fmt::format("{}-{}", accumulation, step);
      Recorder recorder;
      recorder.interrupt_after = step;
      EXPECT_THAT(message_of<Interrupted>([&] { train(name, Start::kNew, &recorder); }),
                  HasSubstr(fmt::format("stopped after step {} of 12", step)));
      EXPECT_TRUE(train(name, Start::kResume).equal(expected)) << name;
      EXPECT_EQ(timeless_lines(folder / name / "metrics.jsonl"),
                timeless_lines(folder / whole / "metrics.jsonl"));
    }
  }
}

/// A learner of which a signal interrupts one function, as long as `signals` lasts.
template <auto kFunction>
struct InterruptedIn : TinyLearner {
  InterruptedIn(TinyNetwork& network, const TrainConfig& config, int64_t& signals)
      : TinyLearner(network, config) {
    this->*kFunction = [&signals, function = this->*kFunction](auto... arguments) {
      if (signals-- > 0) std::raise(SIGINT);
      InterruptGuard::stop_if_interrupted("stopped");
      return function(arguments...);
    };
  }
};
using InterruptedLearner = InterruptedIn<&TinyLearner::evaluation>;
using InterruptedSampler = InterruptedIn<&TinyLearner::sample_after>;

template <typename CutShort>
class TrainerMakesUpFor : public TrainerTest {};
using WhatIsCutShort = testing::Types<InterruptedLearner, InterruptedSampler>;
TYPED_TEST_SUITE(TrainerMakesUpFor, WhatIsCutShort);

TYPED_TEST(TrainerMakesUpFor, WhatWasInterrupted) {
  const at::Tensor expected = this->train("whole", Start::kNew);
  int64_t signals = 1;
  const auto run = [&](Start start) {
    TinyNetwork network;
    TypeParam learner(network, this->config, signals);
    Trainer(learner, this->folder / "run").run(start);
    return weights_of(network);
  };
  // It is cut short, and then its repetition.
  EXPECT_THAT(message_of<Interrupted>([&] { run(Start::kNew); }), HasSubstr("stopped after step"));
  signals = 1;
  EXPECT_THAT(message_of<Interrupted>([&] { run(Start::kResume); }),
              HasSubstr("stopped after step"));
  EXPECT_TRUE(run(Start::kResume).equal(expected));
  EXPECT_EQ(timeless_lines(this->folder / "run/metrics.jsonl"),
            timeless_lines(this->folder / "whole/metrics.jsonl"));
}

/// As one that is killed between the line in the log and the checkpoint.
struct EndsAtAnEvaluation : Recorder {
  void on_evaluation(int64_t, const Metrics&) override { throw std::runtime_error("killed"); }
};
struct EndsAtASample : Recorder {
  void on_sample(int64_t, const std::string&) override { throw std::runtime_error("killed"); }
};

class TrainerMadeUpFor : public TrainerTest {
 protected:
  /// What a signal cut short is made again by a training that is killed then, and once more.
  template <typename CutShort, typename Killed>
  void expect_logged_once() {
    const at::Tensor expected = train("whole", Start::kNew);
    int64_t signals = 1;
    TinyNetwork network;
    CutShort learner(network, config, signals);
    EXPECT_THROW(run(learner, "run", Start::kNew), Interrupted);
    Killed killed;
    EXPECT_THAT(message_of<std::runtime_error>([&] { train("run", Start::kResume, &killed); }),
                HasSubstr("killed"));
    EXPECT_TRUE(train("run", Start::kResume).equal(expected));
    EXPECT_EQ(timeless_lines(folder / "run/metrics.jsonl"),
              timeless_lines(folder / "whole/metrics.jsonl"));
  }
};

TEST_F(TrainerMadeUpFor, AnEvaluationIsLoggedOnce) {
  expect_logged_once<InterruptedLearner, EndsAtAnEvaluation>();
}

TEST_F(TrainerMadeUpFor, ASampleIsLoggedOnce) {
  expect_logged_once<InterruptedSampler, EndsAtASample>();
}

TEST_F(TrainerTest, ASignalDuringTheLastEvaluationEndsTheTrainingWithoutIt) {
  config.evaluate_every = 0;
  train("whole", Start::kNew);
  int64_t signals = 1;
  TinyNetwork network;
  InterruptedLearner learner(network, config, signals);
  const auto stopped = run(learner, "run", Start::kNew);
  EXPECT_EQ(stopped.step, 12);
  EXPECT_TRUE(stopped.evaluation_is_missing);
  EXPECT_FALSE(stopped.best_validation_loss.has_value());
  const auto resumed = run(learner, "run", Start::kResume);
  EXPECT_FALSE(resumed.evaluation_is_missing);
  EXPECT_TRUE(resumed.best_validation_loss.has_value());
  EXPECT_EQ(timeless_lines(folder / "run/metrics.jsonl"),
            timeless_lines(folder / "whole/metrics.jsonl"));
}

TEST_F(TrainerTest, ResumesFromTheOneBeforeADamagedCheckpoint) {
  const at::Tensor expected = train("whole", Start::kNew);
  Recorder stopped;
  stopped.interrupt_after = 10;
  EXPECT_THROW(train("run", Start::kNew, &stopped), Interrupted);
  write_file(folder / "run/checkpoints/step-00000010.safetensors", "rubbish");
  Recorder recorder;
  EXPECT_TRUE(train("run", Start::kResume, &recorder).equal(expected));
  EXPECT_THAT(recorder.events, testing::StartsWith("<9 10"));
  EXPECT_EQ(recorder.warnings.size(), 1u);
  EXPECT_EQ(logged_steps("run"), logged_steps("whole"));
}

TEST_F(TrainerTest, EndsWithTheNextBestWhereTheBestCheckpointIsDamaged) {
  config.evaluate_every = config.checkpoint_every = 4;
  config.keep_checkpoints = 1;
  TinyNetwork network;
  TinyLearner learner(network, config);
  learner.evaluation = evaluations_with({3, 1, 2});
  const auto train = [&](Start start) {
    return tessera::train(learner, RunFolder(folder / "run", start), nullptr, "");
  };
  EXPECT_EQ(train(Start::kNew).validation_loss(), 1);
  const at::Tensor best = weights_of(network);
  test::damage(folder / "run/checkpoints/step-00000008.safetensors");
  EXPECT_EQ(train(Start::kResume).validation_loss(), 2) << "of the weights that are saved";
  EXPECT_FALSE(weights_of(network).equal(best));
}

TEST_F(TrainerTest, AFinishedRunHasNothingLeftAndMayBeProlonged) {
  config.decay_steps = 20;
  const at::Tensor done = train("run", Start::kNew);
  Recorder recorder;
  EXPECT_TRUE(train("run", Start::kResume, &recorder).equal(done));
  EXPECT_EQ(recorder.events, "<12");
  config.steps = 14;
  const at::Tensor prolonged = train("run", Start::kResume);
  EXPECT_EQ(logged_steps("run").size(), 14u);
  EXPECT_TRUE(train("whole", Start::kNew).equal(prolonged));
}

TEST_F(TrainerTest, AFinishedRunWhoseLastLossIsNoNumberIsNotEvaluatedAgain) {
  config.evaluate_every = 0;
  run_with_losses({NAN}, "run", Start::kNew);
  const auto lines = timeless_lines(folder / "run/metrics.jsonl");
  Recorder recorder;
  run_with_losses({}, "run", Start::kResume, &recorder);
  EXPECT_EQ(recorder.events, "<12");
  EXPECT_EQ(timeless_lines(folder / "run/metrics.jsonl"), lines);
}

TEST_F(TrainerTest, PatienceIsCountedAcrossAnInterrupt) {
  config.patience = 2;
  config.evaluate_every = 1;
  Recorder recorder;
  recorder.interrupt_after = 2;
  EXPECT_THROW(run_with_losses({3, 4}, "run", Start::kNew, &recorder), Interrupted);
  EXPECT_EQ(run_with_losses({5}, "run", Start::kResume).step, 3);
}

TEST_F(TrainerTest, ResumesRmspropBitForBit) {
  config.optimizer = OptimizerKind::kRmsprop;
  config.learning_rate = 0.002;
  config.min_learning_rate = 0.0;
  config.clip_value = 0.05;
  const at::Tensor whole = train("whole", Start::kNew);
  Recorder recorder;
  recorder.interrupt_after = 7;
  EXPECT_THROW(train("parts", Start::kNew, &recorder), Interrupted);
  EXPECT_TRUE(train("parts", Start::kResume).equal(whole));
  config.optimizer = OptimizerKind::kAdamW;
  EXPECT_THROW(train("parts", Start::kResume), DataError);  // its checkpoints hold another state
}

TEST_F(TrainerTest, RefusesAFolderThatHoldsARun) {
  train("run", Start::kNew);
  EXPECT_THAT(message_of<UsageError>([&] { train("run", Start::kNew); }),
              HasSubstr("already holds a run; resume it"));
  EXPECT_EQ(logged_steps("run").size(), 12u);
}

TEST_F(TrainerTest, RefusesToResumeSomethingElse) {
  train("run", Start::kNew);
  config.seed += 1;
  EXPECT_THAT(message_of<UsageError>([&] { train("run", Start::kResume); }),
              HasSubstr("was trained with another seed (1337, now 1338)"));
  config.seed -= 1;
  TinyNetwork network;
  TinyLearner other(network, config);
  other.names = "other";
  EXPECT_THAT(message_of<UsageError>([&] { run(other, "run", Start::kResume); }),
              HasSubstr("another configuration (tiny, now other)"));
}

TEST_F(TrainerTest, ResumingNothingStartsFromTheBeginningAndSaysSo) {
  Recorder recorder;
  EXPECT_TRUE(train("run", Start::kResume, &recorder).equal(train("whole", Start::kNew)));
  ASSERT_EQ(recorder.warnings.size(), 1u);
  EXPECT_THAT(recorder.warnings[0], HasSubstr("holds no checkpoint yet"));
}

}  // namespace
}  // namespace tessera
