// A training that was killed or interrupted goes on as if it had not been: to the last bit.

#include <signal.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tessera/base/random.h"
#include "tests/program/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;

constexpr int kSteps = 150;

class Resuming : public Workplace {
 protected:
  /// Starts a run, or continues one that was begun.
  Arguments begun_or_new(const std::string& out, const Arguments& settings) const {
    Arguments more;
    if (std::filesystem::exists(path(out + "/lock"))) more = {"--resume"};
    return train_arguments(out, settings, more);
  }
  Arguments arguments(const std::string& out) const {
    return begun_or_new(out, {"train.steps=" + std::to_string(kSteps), "train.checkpoint_every=7",
                              "train.evaluate_every=60", "model.channels=32", "model.window=64"});
  }

  /// Sends a signal to a command once this file is there.
  Outcome stop_when_there(const Arguments& command, const std::string& file,
                          int signal_number) const {
    Process process = start(command);
    process.wait_until([&] { return std::filesystem::exists(path(file)); });
    process.send(signal_number);
    return process.wait();
  }

  std::string model(const std::string& run) const {
    return read_file(path(run + "/model/model.safetensors"));
  }

  /// Lines that a run has logged.
  int64_t lines(const std::string& run) const {
    const std::string log = read_file(path(run + "/metrics.jsonl"));
    return std::count(log.begin(), log.end(), '\n');
  }

  /// Trains the run of `arguments` to its end; returns the system calls that it took.
  int64_t train_whole() const {
    Process process = start(arguments("whole"), {.system_calls = test::kAllCalls});
    EXPECT_EQ(process.wait().status, 0) << process.errors();
    return process.system_calls();
  }

  void expect_every_step_once(const std::string& run) const {
    std::istringstream log(read_file(path(run + "/metrics.jsonl")));
    int64_t step = 0;
    for (std::string line; std::getline(log, line);) {
      const auto json = nlohmann::json::parse(line);
      if (json["kind"] != "step") continue;
      EXPECT_EQ(json["step"].get<int64_t>(), ++step);
    }
    EXPECT_EQ(step, kSteps);
  }
};

/// Signals come at counted system calls.
class ResumingAtCalls : public Resuming {
 protected:
  void SetUp() override {
    if (!test::calls_are_counted()) GTEST_SKIP() << test::kNotCounted;
  }
};

TEST_F(ResumingAtCalls, AfterKillsAtAnyMomentGivesTheSameBits) {
  const int64_t calls = train_whole();
  RandomStream random(1);
  int killed = 0;
  for (int i = 0; i < 8; ++i) {
    const int64_t last = random.below(calls / 3);
    killed += tessera(arguments("killed"), {.system_calls = last}).status == -SIGKILL;
  }
  EXPECT_GE(killed, 3);
  done(arguments("killed"));
  EXPECT_EQ(model("killed"), model("whole"));
  expect_every_step_once("killed");
}

TEST_F(ResumingAtCalls, AfterCtrlCGivesTheSameBits) {
  const int64_t calls = train_whole();
  for (const int signal_number : {SIGINT, SIGTERM}) {
    const Outcome outcome =
        tessera(arguments("run"), {.system_calls = calls / 4, .signal_number = signal_number});
    expect_refused(outcome, 130, "its checkpoint is in");
    EXPECT_THAT(outcome.err, HasSubstr("--resume"));
  }
  done(arguments("run"));
  EXPECT_EQ(model("run"), model("whole"));
  expect_every_step_once("run");
}

TEST_F(Resuming, NeedsARun) {
  expect_refused(train("none", {}, {"--resume"}), 2, "none does not exist, so there is no run");
  EXPECT_FALSE(std::filesystem::exists(path("none")));
}

TEST_F(Resuming, IsRefusedWhileAnotherProcessTrainsThere) {
  Process first = start(train_arguments("run", {"train.steps=1000000"}));
  first.wait_until([&] { return is_there(path("run/metrics.jsonl")) && lines("run") >= 3; });
  const Outcome second = train("run", {"train.steps=1000000"}, {"--resume"});
  expect_refused(second, 1, "run/lock: another process is training in this folder");
  first.send(SIGINT);
  expect_refused(first.wait(), 130, "its checkpoint is in");
}

TEST_F(Resuming, AfterASignalWhileTheTextIsRead) {
  write_text(path("text.txt"), small_text(500000));  // 14 MB
  for (const int signal_number : {SIGINT, SIGTERM}) {
    const Outcome stopped =
        stop_when_there(train_arguments("run", {"data.tokenizer=bpe", "data.vocabulary=300"}),
                        "run/lock", signal_number);
    expect_refused(stopped, 130, "before the first step");
    EXPECT_THAT(stopped.err, HasSubstr("run the same command again"));
    EXPECT_FALSE(std::filesystem::exists(path("run/corpus/corpus.json")));
    std::filesystem::remove(path("run/lock"));
  }
  write_text(path("text.txt"), small_text(400));
  done(train_arguments("run", {"data.tokenizer=bpe", "data.vocabulary=300"}));
}

TEST_F(Resuming, AfterASignalBehindTheLastStepMeasuresTheRest) {
  // The sample would take hours.
  const Outcome stopped = stop_when_there(train_arguments("run", {"sample.tokens=100000000"}),
                                          "run/model/tokenizer.json", SIGTERM);
  expect_refused(stopped, 130, "stopped after the last step; the model is in " + path("run/model"));
  EXPECT_THAT(stopped.err, HasSubstr("Not measured: "));
  EXPECT_THAT(stopped.err, HasSubstr("the same command with --resume measures it"));
  EXPECT_THAT(read_file(path("run/report.html")), HasSubstr("not measured"));
  const std::string trained = model("run");
  done(train_arguments("run", {"sample.tokens=5"}, {"--resume"}));
  EXPECT_EQ(model("run"), trained);
  EXPECT_THAT(read_file(path("run/report.html")), ::testing::Not(HasSubstr("not measured")));
}

TEST_F(Resuming, RefusesAnotherConfigurationOrText) {
  done(train_arguments("run"));
  const std::string log = read_file(path("run/metrics.jsonl"));
  const std::string tokens = read_file(path("run/corpus/tokens.safetensors"));
  write_text(path("other.txt"), small_text(300));
  const auto refused = [&](const std::string& setting, const std::string& message) {
    expect_refused(train("run", {setting}, {"--resume"}), 2, message);
    EXPECT_EQ(read_file(path("run/metrics.jsonl")), log);
    EXPECT_EQ(read_file(path("run/corpus/tokens.safetensors")), tokens) << "the tokens are lost";
  };
  refused("train.learning_rate=0.1", "began with train.learning_rate = 0.02, now it is 0.1");
  refused("train.seed=3", "began with train.seed = 1337, now it is 3");
  refused("model.channels=32", "began with model.channels = 16, now it is 32");
  refused("data.text=" + path("other.txt"), "data.text");
  refused("data.tokenizer=character", "data.tokenizer = \"byte\", now it is \"character\"");
  refused("data.validation_share=0.2", "data.validation_share");
  const std::string configuration = read_file(path("run/config.toml"));
  refused("train.steps=5", "has made 30 updates, and train.steps is 5; give 30 or more");
  EXPECT_EQ(read_file(path("run/config.toml")), configuration);

  done(train_arguments("run", {"train.steps=40", "train.patience=9"}, {"--resume"}));
  EXPECT_THAT(read_file(path("run/config.toml")), HasSubstr("steps = 40"));
}

TEST_F(Resuming, GoesOnWithTheTokensItBeganWith) {
  const auto steps = [&](const std::string& out, const std::string& count) {
    return tessera(begun_or_new(out, {"train.steps=" + count, "train.decay_steps=30"}));
  };
  ASSERT_EQ(steps("whole", "30").status, 0);
  ASSERT_EQ(steps("run", "15").status, 0);
  write_text(path("text.txt"), small_text(900));
  const Outcome changed = steps("run", "20");
  ASSERT_EQ(changed.status, 0) << changed.err;
  EXPECT_THAT(changed.err, HasSubstr("The text or its tokenizer has changed since"));
  std::filesystem::remove(path("text.txt"));
  ASSERT_EQ(steps("run", "30").status, 0);
  EXPECT_EQ(losses("run"), losses("whole"));
}

TEST_F(Resuming, SaysWhatIsDamaged) {
  done(train_arguments("run"));
  const std::string tokens = path("run/corpus/tokens.safetensors");
  const std::string whole = read_file(tokens);
  std::string damaged = whole;
  damaged.back() ^= 1;
  write_text(tokens, damaged);
  expect_refused(train("run", {}, {"--resume"}), 3, "tokens.safetensors: is damaged");
  write_text(tokens, whole.substr(0, 600));
  expect_refused(train("run", {}, {"--resume"}), 3, "tokens.safetensors");
  write_text(tokens, whole);
  write_text(path("run/corpus/corpus.json"), "{}");
  expect_refused(train("run", {}, {"--resume"}), 3, "corpus.json: is not the record of a corpus");
}

TEST_F(Resuming, TakesTheCheckpointBeforeADamagedOne) {
  done(train_arguments("whole", {"train.evaluate_every=0"}));
  done(train_arguments("run", {"train.evaluate_every=0"}));
  const std::string last = path("run/checkpoints/step-00000030.safetensors");
  write_text(last, read_file(last).substr(0, 5000));
  const Outcome run = train("run", {"train.evaluate_every=0"}, {"--resume"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("step-00000030.safetensors"));
  EXPECT_EQ(model("run"), model("whole"));

  for (const auto& entry : std::filesystem::directory_iterator(path("run/checkpoints")))
    write_text(entry.path(), "not a checkpoint");
  expect_refused(train("run", {"train.evaluate_every=0"}, {"--resume"}), 3, "checkpoints");
}

}  // namespace
}  // namespace tessera::cli
