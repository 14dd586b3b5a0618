// kill -9 at any moment: a store is always before or after a document.

#include <array>
#include <map>
#include <set>

#include "tessera/base/random.h"
#include "tests/program/cli/memo_workplace.h"
#include "tests/support/nightly.h"

namespace tessera::cli {
namespace {

constexpr int kDocuments = 12;
const int kKills = test::nightly() ? 240 : 16;
const int kRebuildKills = test::nightly() ? 40 : 6;
const int kForgetKills = test::nightly() ? 120 : 16;
const int kUpdateKills = test::nightly() ? 120 : 6;
const int kRepairKills = test::nightly() ? 120 : 16;
const ProcessOptions kCounted = {.system_calls = test::kAllCalls};

/// Kills that come at counted system calls.
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
    done({"memo", "create", path("store"), "--dimension", "64", "--matrices", shards});
  }

  void SetUp() override {
    if (!test::calls_are_counted()) GTEST_SKIP() << test::kNotCounted;
  }

  static std::string id(int number) { return (number < 10 ? "d0" : "d") + std::to_string(number); }
  std::string path(const std::string& name) const { return (folder_ / name).native(); }

  std::vector<std::string> documents() const {
    std::vector<std::string> ids;
    for (const auto& document : verified_documents(path("store"))) ids.push_back(document["id"]);
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

  /// Memorizes all documents; returns the system calls that it took.
  int64_t memorize_all() {
    forgetting_ = true;
    Process run = start(next_command({}), kCounted);
    const Outcome outcome = run.wait();
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(documents().size(), static_cast<size_t>(kDocuments));
    return run.system_calls();
  }

  void expect_before_or_after_a_document(int kills, uint64_t seed) {
    const auto calls = static_cast<uint64_t>(memorize_all());
    RandomStream random(seed);
    auto held = documents();
    int between = 0;  // kills between two documents of a run
    // Where a kill falls hangs on the machine: more come until enough fell between two documents.
    const auto enough = [&](int i) { return i >= 20 * kills || between >= kills / 8; };
    for (int i = 0; (i < kills || !enough(i)) && !HasFatalFailure(); ++i) {
      // Half of them while documents come and go, which is before the files are settled.
      const int64_t last = random.below(i % 2 == 0 ? calls : calls / 3);
      tessera(next_command(held), {.system_calls = last});
      auto left = documents();
      expect_no_gap(left);
      EXPECT_TRUE(forgetting_ ? left.size() <= held.size() : left.size() >= held.size());
      between += left.size() != held.size() && left.size() % kDocuments != 0;
      held = std::move(left);
    }
    EXPECT_GE(between, kills / 8) << "hardly a kill came between two documents";
    memorize_all();
    expect_nothing_unfinished(path("store"));
  }

  test::TemporaryFolder folder_{test::folder_in_memory()};
  bool forgetting_ = false;
};

TEST_F(Kills, LeaveAStoreBeforeOrAfterADocument) {
  expect_before_or_after_a_document(kKills, 1);
}

TEST_F(Kills, LeaveAStoreOfSeveralMatricesBeforeOrAfterADocument) {
  create("5");
  expect_before_or_after_a_document(kKills / 2, 4);
}

/// Of an update that replaces half of the documents and forgets one.
TEST_F(Kills, OfAnUpdateLeaveEachDocumentAsItWasOrAsItWillBe) {
  memorize_all();
  std::filesystem::copy(path("store"), path("before"));
  std::map<std::string, std::set<std::string>> texts;  // by id, the old and the new one
  for (int number = 0; number < kDocuments; ++number) {
    const std::string file = path("texts/" + id(number));
    texts[id(number)].insert(read_file(file));
    if (number % 2 == 0) write_text(file, "Another text of document " + id(number) + ".\n");
    texts[id(number)].insert(read_file(file));
  }
  std::filesystem::remove(path("texts/" + id(5)));
  const Arguments update = {"memo", "update", path("store"), path("texts"), "--prune"};
  const int64_t calls = start(update, kCounted).system_calls();
  EXPECT_EQ(documents().size(), size_t{kDocuments - 1});
  for (int64_t kill = 1; kill <= kUpdateKills; ++kill) {
    std::filesystem::remove_all(path("store"));
    std::filesystem::copy(path("before"), path("store"));
    tessera(update, {.system_calls = calls * kill / (kUpdateKills + 1)});
    const auto held = documents();
    EXPECT_GE(held.size(), size_t{kDocuments - 1}) << kill;
    for (const auto& document : held)
      EXPECT_TRUE(texts[document].contains(done({"memo", "show", path("store"), document})))
          << kill << ' ' << document;
    done(update);
    EXPECT_EQ(documents().size(), size_t{kDocuments - 1});
    expect_nothing_unfinished(path("store"));
  }
}

/// Whatever a forgetting came to: the next command that writes leaves a history of what is gone.
TEST_F(Kills, OfAForgettingLeaveAHistoryOfWhatIsGone) {
  memorize_all();
  done({"memo", "history", path("store"), "--begin"});
  std::filesystem::copy(path("store"), path("before"));
  const Arguments forget = {"memo", "forget", path("store"), id(0), id(1), id(2)};
  const int64_t calls = start(forget, kCounted).system_calls();
  std::set<size_t> all_gone;
  for (int64_t kill = 1; kill <= kForgetKills; ++kill) {
    std::filesystem::remove_all(path("store"));
    std::filesystem::copy(path("before"), path("store"));
    tessera(forget, {.system_calls = calls * kill / (kForgetKills + 1)});
    tessera({"memo", "memorize", path("store"), path("none")});  // opens it for writing
    const size_t gone = kDocuments - documents().size();
    all_gone.insert(gone);
    const auto history =
        config::Json::parse(done({"memo", "history", path("store"), "--json"}))["data"];
    ASSERT_EQ(history.size(), gone) << kill;
  }
  EXPECT_GE(all_gone.size(), 2u);
}

/// A store that gets another tokenizer has all documents at every moment, and one of the two.
TEST_F(Kills, LeaveAStoreWithOneOfTwoTokenizers) {
  memorize_all();
  const auto rebuild = [&](const std::string& tokenizer, const ProcessOptions& options) {
    return start({"memo", "rebuild", path("store"), "--tokenizer", tokenizer}, options);
  };
  const std::array<int64_t, 2> calls = {rebuild("bpe", kCounted).system_calls(),
                                        rebuild("byte", kCounted).system_calls()};
  std::set<int64_t> vocabularies;
  for (int64_t i = 0; i < kRebuildKills; ++i) {  // most near the end, where the new store comes
    rebuild(i % 2 == 0 ? "bpe" : "byte", {.system_calls = calls[i % 2] - 1 - i * i});
    ASSERT_EQ(documents().size(), static_cast<size_t>(kDocuments));
    const auto configuration = config::Json::parse(read_file(path("store/config.json")));
    vocabularies.insert(configuration["vocabulary"].get<int64_t>());
  }
  EXPECT_EQ(vocabularies.size(), 2u);
  done({"memo", "update", path("store"), path("texts")});
  expect_nothing_unfinished(folder_.path());
}

/// The full-text index alone has the texts: this tokenizer puts a space before each.
TEST_F(Kills, OfARepairLeaveTheTextsThatTokensDoNotGiveBack) {
  const std::string tokenizer = path("tokenizer.json");
  done({"tokenizer", "train", path("texts"), "--vocabulary", "270", "--out", tokenizer});
  std::string spacing = read_file(tokenizer);
  const std::string flag = "\"add_prefix_space\": ", off = flag + "false";
  ASSERT_NE(spacing.find(off), std::string::npos);
  write_text(tokenizer, spacing.replace(spacing.find(off), off.size(), flag + "true"));
  std::filesystem::remove_all(path("store"));
  done({"memo", "create", path("store"), "--dimension", "64", "--tokenizer", tokenizer});
  memorize_all();
  const Arguments repair = {"memo", "verify", path("store"), "--repair"};
  const int64_t calls = start(repair, kCounted).system_calls();
  for (int64_t kill = 1; kill <= kRepairKills; ++kill) {
    tessera(repair, {.system_calls = calls * kill / (kRepairKills + 1)});
    ASSERT_EQ(documents().size(), static_cast<size_t>(kDocuments)) << kill;
  }
}

/// Ctrl-C, which does not kill: a whole store is created, or nothing.
TEST_F(Kills, OfASignalThatIsHeardLeaveNoPartOfANewStore) {
  const Arguments command = {"memo", "create", path("new"), "--dimension", "64"};
  const int64_t calls = start(command, kCounted).system_calls();
  constexpr int kSignals = 12;
  int heard = 0;
  for (int64_t i = 0; i < kSignals; ++i) {
    std::filesystem::remove_all(path("new"));
    const Outcome run =
        tessera(command, {.system_calls = calls * i / kSignals, .signal_number = SIGINT});
    if (run.status != 130) continue;
    ++heard;
    EXPECT_EQ(run.err, "tessera: interrupted; nothing was created\n");
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      EXPECT_FALSE(entry.path().filename().native().starts_with("new")) << entry.path();
  }
  EXPECT_GE(heard, kSignals / 2);
}

/// The same while the last files are written, which takes some 260 system calls; in some 160 after
/// these it is found out whether the store is overfull.
TEST_F(Kills, OfASignalInTheLastWritesChangeNothing) {
  memorize_all();
  const auto expect_heard = [&](const Arguments& command, const std::string& message) {
    const int64_t calls = start(command, kCounted).system_calls();
    for (int64_t before_end = 220; before_end < 380; before_end += 40) {
      std::filesystem::remove_all(path("new"));
      const Outcome run =
          tessera(command, {.system_calls = calls - before_end, .signal_number = SIGINT});
      EXPECT_EQ(run.status, 130) << before_end << run.err;
      EXPECT_THAT(run.err, ::testing::EndsWith("tessera: interrupted; " + message + "\n"));
      EXPECT_FALSE(std::filesystem::exists(path("new")));
      expect_nothing_unfinished(folder_.path());
    }
    EXPECT_EQ(documents().size(), static_cast<size_t>(kDocuments));
  };
  expect_heard({"memo", "merge", path("new"), path("store")}, "nothing was created");
  expect_heard({"memo", "rebuild", path("store"), "--tokenizer", "byte"}, "the store is as it was");
}

}  // namespace
}  // namespace tessera::cli
