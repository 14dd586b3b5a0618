#include "tessera/train/trainer.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "tessera/base/random.h"
#include "tests/train/trainer_fixture.h"

namespace tessera {
namespace {

using test::TemporaryFolder;
using test::timeless_lines;
using test::tiny_config;
using test::tiny_task;
using test::TinyNetwork;
using test::weights_of;
using testing::HasSubstr;

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
