#include "tessera/train/trainer.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "tessera/base/random.h"
#include "tests/support/process.h"
#include "tests/train/trainer_fixture.h"

namespace tessera {
namespace {

using test::kAllCalls;
using test::TemporaryFolder;
using test::timeless_lines;
using test::tiny_config;
using test::TinyLearner;
using test::TinyNetwork;
using test::weights_of;
using testing::HasSubstr;

TrainConfig long_config() {
  TrainConfig config = tiny_config();
  config.steps = 400;
  config.threads = 1;
  config.evaluate_every = 50;
  return config;
}

/// Trains in a process of its own, which is killed as it makes one system call more than these.
test::Process train(const std::filesystem::path& folder, int64_t calls) {
  return test::Process(
      [&] {
        TinyNetwork network;
        TinyLearner learner(network, long_config());
        Trainer(learner, folder).run(Start::kResume);
        return 0;
      },
      {.system_calls = calls});
}

/// Kills twenty trainings of one run, then lets one finish. Exits with the number of those that
/// were killed before their end; 100 and more: failed.
[[noreturn]] void kill_and_finish(const std::filesystem::path& folder) {
  const auto calls = static_cast<uint64_t>(train(folder / "counted", kAllCalls).system_calls());
  RandomStream random(20);
  int killed = 0;
  for (int round = 0; round < 20; ++round)
    killed += train(folder / "run", random.below(calls / 5)).wait().status == -SIGKILL;
  ::_exit(train(folder / "run", kAllCalls).wait().status == 0 ? killed : 100);
}

// The death test starts this program anew, so that the children are forked from a process that has
// not yet run any OpenMP thread.
TEST(KilledRunDeathTest, GoesOnBitForBit) {
  if (!test::calls_are_counted()) GTEST_SKIP() << test::kNotCounted;
  const TemporaryFolder above;
  const char* inherited = std::getenv("TESSERA_KILLED_RUN");
  const std::filesystem::path folder = inherited ? inherited : above.path();
  ::setenv("TESSERA_KILLED_RUN", folder.c_str(), 1);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      kill_and_finish(folder),
      [](int status) {
        return WIFEXITED(status) && WEXITSTATUS(status) >= 5 && WEXITSTATUS(status) <= 20;
      },
      "");
  ::unsetenv("TESSERA_KILLED_RUN");

  TinyNetwork expected, resumed;
  const int threads = at::get_num_threads();
  TinyLearner whole(expected, long_config()), rest(resumed, long_config());
  Trainer(whole, folder / "whole").run(Start::kNew);
  Trainer(rest, folder / "run").run(Start::kResume);
  at::set_num_threads(threads);
  EXPECT_TRUE(weights_of(resumed).equal(weights_of(expected)));
  EXPECT_EQ(timeless_lines(folder / "run/metrics.jsonl"),
            timeless_lines(folder / "whole/metrics.jsonl"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "run"))
    EXPECT_THAT(entry.path().native(), testing::Not(HasSubstr("unfinished")));
}

}  // namespace
}  // namespace tessera
