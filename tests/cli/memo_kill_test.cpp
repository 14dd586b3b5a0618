// kill -9 at hundreds of random moments: a store is always before or after a document.

#include <signal.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tessera/base/config.h"
#include "tessera/base/random.h"
#include "tests/cli/loaded_program.h"

namespace tessera::cli {
namespace {

using Arguments = std::vector<std::string>;
using std::chrono::microseconds;

constexpr int kDocuments = 12;
constexpr int kKills = 240;       // of the program's verbs, loaded already
constexpr int kProgramKills = 6;  // of the program as a user starts it, which takes a moment

class Kills : public ::testing::Test {
 protected:
  Kills() {
    std::filesystem::create_directory(path("texts"));
    for (int number = 0; number < kDocuments; ++number)
      write_text(path("texts/" + id(number)), "Document " + std::to_string(number * 7919) +
                                                  " says " + std::string(number % 5, 'x') +
                                                  " and ends.\n");
    create("1");
  }

  /// An empty store, in the place of the one that is there.
  void create(const std::string& shards) {
    std::filesystem::remove_all(path("store"));
    const Arguments command = {"memo", "create",   path("store"), "--dimension",
                               "64",   "--matrices", shards};
    EXPECT_EQ(start_loaded(command)->wait().status, 0);
  }

  static std::string id(int number) { return (number < 10 ? "d0" : "d") + std::to_string(number); }
  std::string path(const std::string& name) const { return (folder_ / name).native(); }

  /// The documents that the store holds; it must verify, but for text that is not erased yet.
  std::vector<std::string> documents() const {
    const Outcome outcome =
        Process([&] {
          const int status = run_verbs(command_line({"memo", "verify", path("store")}));
          return 10 * status +
                 run_verbs(command_line({"memo", "documents", path("store"), "--json"}));
        }).wait();
    const int expected = outcome.err.find("not erased") == std::string::npos ? 0 : 10;
    EXPECT_EQ(outcome.status, expected) << outcome.err;
    std::vector<std::string> ids;
    if (outcome.status == expected)
      for (const auto& document : config::Json::parse(outcome.out.substr(outcome.out.find('\n'))))
        ids.push_back(document["id"]);
    return ids;
  }

  /// What brings the store from where it is to its other end: all documents, or none.
  Arguments next_command(const std::vector<std::string>& held) {
    if (held.empty()) forgetting_ = false;
    if (held.size() == kDocuments) forgetting_ = true;
    Arguments command = {"memo", "memorize", path("store"), path("texts"), "--replace"};
    if (!forgetting_) return command;
    command = {"memo", "forget", path("store")};
    command.insert(command.end(), held.begin(), held.end());
    return command;
  }

  /// While documents are memorized the store holds the first ones, while they are forgotten the
  /// last ones, in their order.
  void expect_no_gap(const std::vector<std::string>& held) const {
    const int first = forgetting_ ? kDocuments - static_cast<int>(held.size()) : 0;
    for (size_t i = 0; i < held.size(); ++i)
      ASSERT_EQ(held[i], id(first + static_cast<int>(i))) << ::testing::PrintToString(held);
  }

  /// Kills a run a random moment after a random number of its documents, looks at what is left, and
  /// so on. Returns how many kills came in time.
  int kill_often(int times, uint64_t seed,
                 const std::function<std::unique_ptr<Process>(const Arguments&)>& start) {
    RandomStream random(seed);
    int killed = 0;
    auto held = documents();
    for (int i = 0; i < times && !HasFatalFailure(); ++i) {
      const auto process = start(next_command(held));
      const auto lines = static_cast<int64_t>(random.below(kDocuments));
      const microseconds later(random.below(1500));
      const auto printed = [&] {
        const std::string out = process->output();
        return std::count(out.begin(), out.end(), '\n');
      };
      while (process->running() && printed() < lines) std::this_thread::sleep_for(microseconds(50));
      std::this_thread::sleep_for(later);
      process->send(SIGKILL);
      killed += process->wait().status == -SIGKILL;
      auto left = documents();
      expect_no_gap(left);
      EXPECT_TRUE(forgetting_ ? left.size() <= held.size() : left.size() >= held.size());
      between_ += left.size() != held.size() && left.size() % kDocuments != 0;
      held = std::move(left);
    }
    return killed;
  }

  void expect_before_or_after_a_document(int kills, uint64_t seed) {
    const int killed =
        kill_often(kills, seed, [](const Arguments& command) { return start_loaded(command); });
    EXPECT_GE(killed, kills / 3) << "most of the kills came too late to tell anything";
    EXPECT_GE(between_, kills / 16) << "hardly a kill came between two documents";

    forgetting_ = true;
    const Outcome last = start_loaded(next_command({}))->wait();
    EXPECT_EQ(last.status, 0) << last.err;
    EXPECT_EQ(documents().size(), static_cast<size_t>(kDocuments));
    for (const auto& entry : std::filesystem::directory_iterator(path("store")))
      EXPECT_EQ(entry.path().native().find("unfinished"), std::string::npos) << entry.path();
  }

  test::TemporaryFolder folder_{test::folder_in_memory()};
  bool forgetting_ = false;
  int between_ = 0;  // kills between two documents of a run
};

TEST_F(Kills, LeaveAStoreBeforeOrAfterADocument) {
  expect_before_or_after_a_document(kKills, 1);
}

TEST_F(Kills, LeaveAStoreOfSeveralMatricesBeforeOrAfterADocument) {
  create("5");
  expect_before_or_after_a_document(kKills / 2, 4);
}

TEST_F(Kills, OfTheProgramAsItIsStarted) {
  const int killed = kill_often(kProgramKills, 2, [](const Arguments& command) {
    return std::make_unique<Process>(command_line(command), pinned({}));
  });
  EXPECT_GE(killed, 1);
}

/// A store that gets another tokenizer has all documents at every moment, and one of the two.
TEST_F(Kills, LeaveAStoreWithOneOfTwoTokenizers) {
  forgetting_ = true;
  ASSERT_EQ(start_loaded({"memo", "memorize", path("store"), path("texts")})->wait().status, 0);
  RandomStream random(3);
  std::set<int64_t> vocabularies;
  int killed = 0;
  for (int i = 0; i < 40; ++i) {
    const auto process = start_loaded(
        {"memo", "rebuild", path("store"), "--tokenizer", i % 2 == 0 ? "bpe" : "byte"});
    std::this_thread::sleep_for(microseconds(random.below(80'000)));
    process->send(SIGKILL);
    killed += process->wait().status == -SIGKILL;
    ASSERT_EQ(documents().size(), static_cast<size_t>(kDocuments));
    vocabularies.insert(
        config::Json::parse(read_text(path("store/config.json")))["vocabulary"].get<int64_t>());
  }
  EXPECT_GE(killed, 3);
  EXPECT_EQ(vocabularies.size(), 2u);
  EXPECT_EQ(start_loaded({"memo", "update", path("store"), path("texts")})->wait().status, 0);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_EQ(entry.path().native().find("unfinished"), std::string::npos) << entry.path();
}

}  // namespace
}  // namespace tessera::cli
