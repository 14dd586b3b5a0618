// tessera train and eval in several processes, as torchrun starts them.

#include <nlohmann/json.hpp>

#include <csignal>

#include "tests/program/cli/tessera_program.h"
#include "tests/support/free_port.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;

class SeveralProcesses : public Workplace {
 protected:
  /// One of two processes that meet at a port and wait no longer than half a minute for each other.
  static ProcessOptions one_of_two(const char* rank, const std::string& port) {
    return {.environment = {{"RANK", rank},
                            {"WORLD_SIZE", "2"},
                            {"MASTER_ADDR", "127.0.0.1"},
                            {"MASTER_PORT", port},
                            {"TESSERA_PROCESS_SECONDS", "30"}}};
  }

  /// What became of the leader and of its helper, which were given these arguments.
  static std::pair<Outcome, Outcome> in_two(const Arguments& of_leader,
                                            const Arguments& of_helper) {
    const std::string port = std::to_string(test::free_port());
    Process helper = start(of_helper, one_of_two("1", port));
    Process leader = start(of_leader, one_of_two("0", port));
    const Outcome first = leader.wait();
    return {first, helper.wait()};
  }

  /// `of_helper`: settings that only it has.
  std::pair<Outcome, Outcome> train_in_two(const std::string& out, const Arguments& settings,
                                           const Arguments& of_helper = {}) const {
    return in_two(train_arguments(out, settings),
                  train_arguments(out, joined(settings, of_helper)));
  }

  /// The helper says nothing: what there is to say the leader says.
  static void expect_both_succeed(const std::pair<Outcome, Outcome>& two) {
    EXPECT_EQ(two.first.status, 0) << two.first.err;
    EXPECT_EQ(two.second.status, 0) << two.second.err;
    EXPECT_EQ(two.second.out + two.second.err, "");
  }
  /// Two processes add up in another order than one.
  void expect_nearly_the_losses(const std::string& run, const std::string& of, size_t steps) const {
    const auto found = losses(run), expected = losses(of);
    ASSERT_EQ(found.size(), steps);
    ASSERT_EQ(expected.size(), steps);
    for (size_t i = 0; i < steps; ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
  }
};

TEST_F(SeveralProcesses, MakeTheUpdatesOfOne) {
  const Arguments settings = {"train.batch=2", "train.accumulation=2"};
  done(train_arguments("one", settings));
  expect_both_succeed(train_in_two("two", settings));
  expect_nearly_the_losses("two", "one", 30);
  const auto world_size = [&](const std::string& out) {
    return nlohmann::json::parse(read_file(path(out + "/manifest.json")))["world_size"];
  };
  EXPECT_EQ(world_size("one"), 1);
  EXPECT_EQ(world_size("two"), 2);
  // One process goes on where two have ended.
  done(train_arguments("two", {"train.batch=2", "train.accumulation=2", "train.steps=32"},
                       {"--resume"}));
  EXPECT_EQ(losses("two").size(), 32u);
}

// In batches of four, or of two by each process; samples are drawn from few, whose order changes.
TEST_F(SeveralProcesses, TrainOnATask) {
  write_text(path("copy.toml"),
             "[task]\nname = \"copy\"\nbits = 3\nmin_length = 2\nmax_length = 2\n"
             "[data]\ntraining_samples = 12\n"
             "[model]\nkind = \"stm\"\nwidth = 6\nslots = 2\n"
             "[train]\nsteps = 20\nbatch = 2\naccumulation = 2\n");
  const auto arguments = [&](const std::string& out) {
    return Arguments{"train", path("copy.toml"), "--out", path(out)};
  };
  done(arguments("one"));
  expect_both_succeed(in_two(arguments("two"), arguments("two")));
  expect_nearly_the_losses("two", "one", 20);
}

TEST_F(SeveralProcesses, RefuseAnotherConfiguration) {
  const auto [leader, helper] =
      train_in_two("run", {"train.accumulation=2"}, {"train.learning_rate=0.01"});
  for (const Outcome& outcome : {leader, helper})
    expect_refused(outcome, 2, "another configuration than process");
  EXPECT_FALSE(std::filesystem::exists(path("run/metrics.jsonl"))) << "before it was refused";
}

// Before they wait for each other, and before anything is written.
TEST_F(SeveralProcesses, RefuseUpdatesThatTheyCannotShare) {
  write_text(path("pong.toml"), "[task]\nname = \"pong\"\n[agent]\nhidden = 4\n");
  const std::vector<Refusal> refusals = {
      {train_arguments("run"), "train.accumulation is 1, expected a multiple of the 2"},
      {{"train", path("pong.toml"), "--out", path("run")}, "pong is trained in one process"}};
  for (const auto& [arguments, message] : refusals)
    for (const char* rank : {"0", "1"})
      expect_refused(tessera(arguments, one_of_two(rank, std::to_string(test::free_port()))), 2,
                     message);
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

TEST_F(SeveralProcesses, ShareTheOptimizer) {
  Arguments settings = {"train.batch=2", "train.accumulation=2"};
  expect_both_succeed(train_in_two("whole", settings));
  settings.push_back("train.share_optimizer=true");
  expect_both_succeed(train_in_two("shared", settings));
  EXPECT_EQ(losses("shared"), losses("whole"));
}

TEST_F(SeveralProcesses, GoOnAfterOneWasKilled) {
  if (!test::calls_are_counted()) GTEST_SKIP() << test::kNotCounted;
  const Arguments settings = {"train.batch=2", "train.accumulation=2", "train.steps=60",
                              "train.share_optimizer=true"};
  // The helper is killed as it makes one system call more than these; returns those that it made.
  const auto train_until = [&](const std::string& out, int64_t calls, int status) {
    const std::string port = std::to_string(test::free_port());
    ProcessOptions counted = one_of_two("1", port);
    counted.system_calls = calls;
    Process leader = start(train_arguments(out, settings), one_of_two("0", port));
    Process helper = start(train_arguments(out, settings), counted);
    const Outcome outcome = leader.wait();
    EXPECT_EQ(outcome.status, status) << outcome.err;
    EXPECT_EQ(helper.wait().status, status == 0 ? 0 : -SIGKILL);
    return std::pair(helper.system_calls(), outcome.err);
  };
  const int64_t calls = train_until("whole", test::kAllCalls, 0).first;
  EXPECT_THAT(train_until("killed", calls * 2 / 3, 1).second,
              HasSubstr("tessera: process 0 of 2 has lost process 1: "));
  const auto again = train_arguments("killed", settings, {"--resume"});
  expect_both_succeed(in_two(again, again));
  EXPECT_EQ(losses("killed"), losses("whole"));
}

TEST_F(SeveralProcesses, EvaluateWhatOneDoes) {
  std::filesystem::create_directory(path("texts"));
  write_text(path("texts/long"), small_text(4000));  // read by both, in two pieces
  for (int i = 0; i < 4; ++i)                        // by one each
    write_text(path("texts/" + std::to_string(i) + ".txt"), small_text(20 + 7 * i));
  const std::vector<Arguments> evaluations = {
      {"--data", path("texts"), "--batch", "3"},
      {"--data", path("texts"), "--suffix", ".txt", "--reading", "streaming"}};
  for (const auto& how : evaluations) {
    const Arguments arguments = joined({"eval", "--model", trained_model(), "--json"}, how);
    const std::string one = done(arguments);
    const auto two = in_two(arguments, arguments);
    expect_both_succeed(two);
    const auto expected = nlohmann::json::parse(one), found = nlohmann::json::parse(two.first.out);
    EXPECT_EQ(found["tokens"], expected["tokens"]);
    EXPECT_EQ(found["bytes"], expected["bytes"]);
    for (const char* what : {"loss", "perplexity", "bits_per_byte"})
      EXPECT_NEAR(found[what], expected[what], 1e-9) << what;
  }
}

// A character that the tokenizer lacks is found by the process that encodes its document or piece.
TEST_F(SeveralProcesses, EvaluateWithoutEncodingTheTextOfOthers) {
  done(train_arguments("run", {"train.steps=1", "data.tokenizer=character"}));
  const auto expect_helper_fails = [&] {
    const Arguments arguments = {"eval", "--model", path("run/model"), "--data", path("texts")};
    const auto [leader, helper] = in_two(arguments, arguments);
    expect_refused(leader, 1, "has lost process 1");
    expect_refused(helper, 3, "is not among the tokenizer's");
  };
  std::filesystem::create_directory(path("texts"));
  write_text(path("texts/0"), small_text(30));
  write_text(path("texts/1"), small_text(20) + "%");
  expect_helper_fails();
  write_text(path("texts/0"), small_text(4000) + "%");  // in its second piece
  write_text(path("texts/1"), small_text(20));
  expect_helper_fails();
}

TEST_F(SeveralProcesses, RefuseAnotherEvaluation) {
  Arguments arguments = {"eval",    "--model", trained_model(), "--data", path("text.txt"),
                         "--batch", "3"};
  Arguments different = arguments;
  different.back() = "4";
  const auto [leader, helper] = in_two(arguments, different);
  for (const Outcome& outcome : {leader, helper})
    expect_refused(outcome, 2, "another evaluation than process");
}

}  // namespace
}  // namespace tessera::cli
