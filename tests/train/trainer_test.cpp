#include "tessera/train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/random.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/tiny_training.h"

namespace tessera {
namespace {

using test::message_of;
using test::TemporaryFolder;
using test::tiny_config;
using test::tiny_task;
using test::TinyNetwork;
using test::weights_of;
using testing::HasSubstr;

/// Writes down what it is told, and raises a signal after the step that it was given.
struct Recorder : TrainingObserver {
  std::string events;
  std::vector<std::string> warnings;
  std::vector<StepMetrics> steps;
  int64_t interrupt_after = -1;

  void on_start(int64_t step, int64_t) override { events += "<" + std::to_string(step); }
  void on_step(const StepMetrics& metrics) override {
    steps.push_back(metrics);
    events += " " + std::to_string(metrics.step);
    if (metrics.step == interrupt_after) std::raise(SIGINT);
  }
  void on_evaluation(int64_t, const Metrics&) override { events += "e"; }
  void on_sample(int64_t) override { events += "s"; }
  void on_checkpoint(int64_t, const std::filesystem::path&) override { events += "c"; }
  void on_warning(const std::string& message) override { warnings.push_back(message); }
};

struct TrainerTest : testing::Test {
  TemporaryFolder folder;
  TrainConfig config = tiny_config();

  /// Trains a fresh network in a folder; what it ends with.
  at::Tensor train(const std::string& name, Start start, Recorder* recorder = nullptr) {
    TinyNetwork network;
    Trainer(config, tiny_task(network), folder / name, recorder).run(start);
    return weights_of(network);
  }
  std::vector<int64_t> logged_steps(const std::string& name) {
    std::vector<int64_t> steps;
    for (const auto& line : MetricsLog::read(folder / name / "metrics.jsonl"))
      if (line["kind"] == "step") steps.push_back(line["step"].get<int64_t>());
    return steps;
  }
};

/// Evaluations that find these losses, one after another; a resumed run goes on in the list.
TrainingTask task_with_losses(TinyNetwork& network, std::vector<double> losses) {
  TrainingTask task = tiny_task(network);
  task.evaluate = [losses, next = size_t{0}]() mutable -> Metrics {
    return {{"loss", losses.at(next++)}};
  };
  return task;
}

/// The lines of a log without what depends on the clock.
std::vector<std::string> timeless_lines(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  for (auto line : MetricsLog::read(path)) {
    line.erase("elapsed_seconds");
    line.erase("tokens_per_second");
    lines.push_back(line.dump());
  }
  return lines;
}

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
                        1,
                        ""};
  };
  Recorder recorder;
  config.accumulation = 2;
  Trainer(config, task({1.0, 3.0}), folder / "two", &recorder).run(Start::kNew);
  EXPECT_DOUBLE_EQ(recorder.steps[0].loss, 12.0);  // 6 gains of 1, times 2
  EXPECT_NEAR(recorder.steps[0].gradient_norm, 2.0 * std::sqrt(6.0), 1e-12);
}

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

/// A task whose evaluations a signal interrupts, as long as `signals` lasts.
TrainingTask interrupted_task(TinyNetwork& network, int64_t& signals) {
  TrainingTask task = tiny_task(network);
  task.evaluate = [&signals, evaluate = task.evaluate] {
    if (signals-- > 0) std::raise(SIGINT);
    InterruptGuard::stop_if_interrupted("stopped");
    return evaluate();
  };
  return task;
}

TEST_F(TrainerTest, AnEvaluationThatWasInterruptedIsMadeUpFor) {
  const at::Tensor expected = train("whole", Start::kNew);
  int64_t signals = 1;
  const auto run = [&](Start start) {
    TinyNetwork network;
    Trainer(config, interrupted_task(network, signals), folder / "run").run(start);
    return weights_of(network);
  };
  // The first evaluation is cut short, and then its repetition.
  EXPECT_THAT(message_of<Interrupted>([&] { run(Start::kNew); }),
              HasSubstr("stopped after step 4 of 12"));
  signals = 1;
  EXPECT_THAT(message_of<Interrupted>([&] { run(Start::kResume); }),
              HasSubstr("stopped after step 4 of 12"));
  EXPECT_TRUE(run(Start::kResume).equal(expected));
  EXPECT_EQ(timeless_lines(folder / "run/metrics.jsonl"),
            timeless_lines(folder / "whole/metrics.jsonl"));
}

TEST_F(TrainerTest, ASignalDuringTheLastEvaluationEndsTheTrainingWithoutIt) {
  config.evaluate_every = 0;
  train("whole", Start::kNew);
  int64_t signals = 1;
  TinyNetwork network;
  const auto stopped =
      Trainer(config, interrupted_task(network, signals), folder / "run").run(Start::kNew);
  EXPECT_EQ(stopped.step, 12);
  EXPECT_TRUE(stopped.evaluation_is_missing);
  EXPECT_FALSE(stopped.best_validation_loss.has_value());
  const auto resumed =
      Trainer(config, interrupted_task(network, signals), folder / "run").run(Start::kResume);
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

TEST_F(TrainerTest, PatienceIsCountedAcrossAnInterrupt) {
  config.patience = 2;
  config.evaluate_every = 1;
  TinyNetwork network;
  Recorder recorder;
  recorder.interrupt_after = 2;
  EXPECT_THROW(Trainer(config, task_with_losses(network, {3, 4}), folder / "run", &recorder)
                   .run(Start::kNew),
               Interrupted);
  const auto result =
      Trainer(config, task_with_losses(network, {5}), folder / "run").run(Start::kResume);
  EXPECT_EQ(result.step, 3);
}

TEST_F(TrainerTest, EndsWhenTheLossIsLowEnough) {
  config.stop_loss = 0.5;
  config.evaluate_every = 2;
  TinyNetwork network;
  const auto result =
      Trainer(config, task_with_losses(network, {3, 0.6, 0.5}), folder / "run").run(Start::kNew);
  EXPECT_EQ(result.step, 6);
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
  TrainingTask other = tiny_task(network);
  other.digest = "other";
  EXPECT_THAT(
      message_of<UsageError>([&] { Trainer(config, other, folder / "run").run(Start::kResume); }),
      HasSubstr("another configuration (tiny, now other)"));
  TinyNetwork wider(7);
  EXPECT_THAT(message_of<DataError>(
                  [&] { Trainer(config, tiny_task(wider), folder / "run").run(Start::kResume); }),
              HasSubstr("tensor 'first' has shape [6, 4], expected [7, 4]"));
}

TEST_F(TrainerTest, ResumingNothingStartsFromTheBeginningAndSaysSo) {
  Recorder recorder;
  EXPECT_TRUE(train("run", Start::kResume, &recorder).equal(train("whole", Start::kNew)));
  ASSERT_EQ(recorder.warnings.size(), 1u);
  EXPECT_THAT(recorder.warnings[0], HasSubstr("holds no checkpoint yet"));
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
  EXPECT_THROW(Trainer(config, task, folder / "a").run(Start::kNew), c10::ValueError);
  task.loss = [&](int64_t, int64_t) { return at::scalar_tensor(1.0); };
  EXPECT_THROW(Trainer(config, task, folder / "b").run(Start::kNew), c10::ValueError);
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

/// Tells a pipe that the first step is done.
struct SignOfLife : TrainingObserver {
  explicit SignOfLife(int pipe) : pipe_(pipe) {}
  void on_step(const StepMetrics&) override {
    if (!told_) told_ = ::write(pipe_, "x", 1) == 1;
  }
  int pipe_;
  bool told_ = false;
};

TrainConfig long_config() {
  TrainConfig config = tiny_config();
  config.steps = 400;
  config.threads = 1;
  config.evaluate_every = 50;
  return config;
}

[[noreturn]] void train_in_child(const std::filesystem::path& folder, int pipe) {
  try {
    SignOfLife observer(pipe);
    TinyNetwork network;
    Trainer(long_config(), tiny_task(network), folder, &observer).run(Start::kResume);
    ::_exit(0);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    ::_exit(9);
  }
}

/// Kills twenty trainings of one run, each at a pseudo-random moment after its first step, and then
/// lets one finish. Exits with the number of kills that met a living process; 100 and more: failed.
[[noreturn]] void kill_and_finish(const std::filesystem::path& folder) {
  RandomStream random(20);
  int killed = 0;
  for (int round = 0; round <= 20; ++round) {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(101);
    const pid_t child = ::fork();
    if (child == 0) train_in_child(folder, ends[1]);
    ::close(ends[1]);
    char sign;
    if (round < 20 && ::read(ends[0], &sign, 1) == 1) {
      ::usleep(static_cast<useconds_t>(random.below(20000)));
      ::kill(child, SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(ends[0]);
    if (WIFSIGNALED(status))
      ++killed;
    else if (WEXITSTATUS(status) != 0)
      ::_exit(102);
  }
  ::_exit(killed);
}

// The death test starts this program anew, so that the children are forked from a process that has
// not yet run any OpenMP thread.
TEST(KilledRunDeathTest, GoesOnBitForBit) {
  const char* inherited = std::getenv("TESSERA_KILLED_RUN");
  const std::filesystem::path folder = inherited
                                           ? inherited
                                           : std::filesystem::temp_directory_path() /
                                                 fmt::format("tessera-killed-run-{}", ::getpid());
  ::setenv("TESSERA_KILLED_RUN", folder.c_str(), 1);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      kill_and_finish(folder),
      [](int status) {
        return WIFEXITED(status) && WEXITSTATUS(status) >= 1 && WEXITSTATUS(status) <= 20;
      },
      "");
  ::unsetenv("TESSERA_KILLED_RUN");

  const TemporaryFolder whole;
  TinyNetwork expected, resumed;
  const int threads = at::get_num_threads();
  Trainer(long_config(), tiny_task(expected), whole / "run").run(Start::kNew);
  Trainer(long_config(), tiny_task(resumed), folder).run(Start::kResume);
  at::set_num_threads(threads);
  EXPECT_TRUE(weights_of(resumed).equal(weights_of(expected)));
  EXPECT_EQ(timeless_lines(folder / "metrics.jsonl"), timeless_lines(whole / "run/metrics.jsonl"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    EXPECT_THAT(entry.path().native(), testing::Not(HasSubstr("unfinished")));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tessera
