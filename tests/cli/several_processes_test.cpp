// tessera train in several processes, as torchrun starts them.

#include <nlohmann/json.hpp>

#include <sstream>

#include "tests/cli/tessera_program.h"
#include "tests/support/free_port.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;

class SeveralProcesses : public Workplace {
 protected:
  /// What became of the leader and of its helper; `of_helper`: settings that only it has.
  std::pair<Outcome, Outcome> train_in_two(const std::string& out,
                                           const std::vector<std::string>& settings,
                                           const std::vector<std::string>& of_helper = {}) const {
    const auto options = [port = std::to_string(test::free_port())](const char* rank) {
      return pinned({.environment = {{"RANK", rank},
                                     {"WORLD_SIZE", "2"},
                                     {"MASTER_ADDR", "127.0.0.1"},
                                     {"MASTER_PORT", port}}});
    };
    std::vector<std::string> different = settings;
    different.insert(different.end(), of_helper.begin(), of_helper.end());
    Process helper(command_line(train_arguments(out, different)), options("1"));
    Process leader(command_line(train_arguments(out, settings)), options("0"));
    const Outcome first = leader.wait();
    return {first, helper.wait()};
  }

  std::vector<double> losses(const std::string& out) const {
    std::vector<double> found;
    std::istringstream lines(read_text(path(out + "/metrics.jsonl")));
    for (std::string line; std::getline(lines, line);)
      if (const auto json = nlohmann::json::parse(line); json["kind"] == "step")
        found.push_back(json["loss"]);
    return found;
  }
};

TEST_F(SeveralProcesses, MakeTheUpdatesOfOne) {
  const std::vector<std::string> settings = {"train.batch=2", "train.accumulation=2"};
  ASSERT_EQ(train("one", settings).status, 0);
  const auto [leader, helper] = train_in_two("two", settings);
  EXPECT_EQ(leader.status, 0) << leader.err;
  EXPECT_EQ(helper.status, 0) << helper.err;
  EXPECT_EQ(helper.out + helper.err, "");
  const auto expected = losses("one"), found = losses("two");
  ASSERT_EQ(found.size(), 30u);
  ASSERT_EQ(expected.size(), 30u);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
  // One process goes on where two have ended.
  EXPECT_EQ(train("two", {"train.batch=2", "train.accumulation=2", "train.steps=32"}, {"--resume"})
                .status,
            0);
  EXPECT_EQ(losses("two").size(), 32u);
}

TEST_F(SeveralProcesses, RefuseAnotherConfiguration) {
  const auto [leader, helper] =
      train_in_two("run", {"train.accumulation=2"}, {"train.learning_rate=0.01"});
  for (const Outcome& outcome : {leader, helper}) {
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err, HasSubstr("another configuration than process"));
  }
}

TEST_F(SeveralProcesses, RefuseSharesThatAreNotEven) {
  const auto [leader, helper] = train_in_two("run", {});
  EXPECT_EQ(leader.status, 2);
  EXPECT_THAT(leader.err, HasSubstr("train.accumulation is 1, expected a multiple of the 2"));
  EXPECT_EQ(helper.status, 2);
}

}  // namespace
}  // namespace tessera::cli
