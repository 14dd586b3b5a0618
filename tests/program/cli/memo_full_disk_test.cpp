// A disk that is full at any moment: the file and the reason are said, and whole documents are
// kept.

#include <functional>
#include <set>

#include "tests/program/cli/memo_workplace.h"
#include "tests/support/nightly.h"

namespace tessera::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;

const uint64_t kStep = test::nightly() ? 4001 : 8009;  // bytes from limit to limit
constexpr uint64_t kLargest = 400000;                  // more than any file here has

/// The program may write so many bytes into one file, more each time, until what it does succeeds.
class MemoFullDisk : public ::testing::Test {
 protected:
  MemoFullDisk() {
    std::filesystem::create_directories(path("texts"));
    for (int number = 0; number < 3; ++number)
      write_text(path("texts/" + std::to_string(number)), small_text(120 + 40 * number));
    done({"memo", "create", path("store"), "--dimension", "64"});
    done({"memo", "create", path("other"), "--dimension", "64"});
    write_text(path("early"), small_text(50));
    done({"memo", "memorize", path("store"), path("early")});
    done({"memo", "memorize", path("other"), path("texts")});
  }

  std::string path(const std::string& name) const { return (folder_ / name).native(); }

  static std::set<std::string> names_in(const std::filesystem::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      names.insert(entry.path().filename());
    return names;
  }

  /// All that is known of the documents but when they were memorized.
  static std::set<std::string> documents(const std::string& store) {
    std::set<std::string> documents;
    for (config::Json document : verified_documents(store)) {
      document.erase("memorized");
      documents.insert(document.dump());
    }
    return documents;
  }

  /// Runs the command under larger and larger limits, each time where nothing of it was done, until
  /// it succeeds; looks at what every failure has left.
  void run_until_it_fits(const Arguments& command,
                         const std::function<void(const Outcome&)>& look) const {
    int failures = 0;
    bool fits = false;
    std::filesystem::copy(path("store"), path("before"));
    for (uint64_t limit = kStep; limit < kLargest; limit += kStep) {
      SCOPED_TRACE(command[1] + " with files of at most " + std::to_string(limit) + " bytes");
      const Outcome run = tessera(command, {.largest_file = limit});
      if ((fits = run.status == 0)) break;
      ASSERT_EQ(run.status, 1) << run.err;
      EXPECT_THAT(run.err, AllOf(HasSubstr("tessera: " + path("")), HasSubstr("File too large")));
      ++failures;
      look(run);
      std::filesystem::remove_all(path("store"));
      std::filesystem::copy(path("before"), path("store"));
    }
    EXPECT_TRUE(fits);
    EXPECT_GE(failures, 3);
    std::filesystem::remove_all(path("before"));
  }

  /// After a failure the store holds whole documents of those before and after; the next write
  /// leaves no other files behind than a store has.
  void run_on_the_store(const Arguments& command) {
    std::set<std::string> all = documents(path("store"));
    std::filesystem::copy(path("store"), path("spare"));
    done(command);
    all.merge(documents(path("store")));
    std::filesystem::remove_all(path("store"));
    std::filesystem::rename(path("spare"), path("store"));
    run_until_it_fits(command, [&](const Outcome&) {
      EXPECT_THAT(documents(path("store")), IsSubsetOf(all));
      done({"memo", "memorize", path("store"), path("early"), "--replace"});
      EXPECT_EQ(names_in(path("store")),
                (std::set<std::string>{"config.json", "tokenizer.json", "ledger.sqlite",
                                       "memory.safetensors", "lock"}));
    });
  }

  /// A command that makes something new leaves nothing of it.
  void run_beside(const Arguments& command) const {
    const auto before = names_in(path(""));
    run_until_it_fits(command, [&](const Outcome&) {
      auto now = names_in(path(""));
      now.erase("before");
      EXPECT_EQ(now, before);
    });
  }

  test::TemporaryFolder folder_{test::folder_in_memory()};
};

TEST_F(MemoFullDisk, Memorize) {
  run_on_the_store({"memo", "memorize", path("store"), path("texts")});
}

/// Documents that are kept although the command fails are printed, and the message says so.
TEST_F(MemoFullDisk, WhatIsKeptIsNamed) {
  int kept = 0;
  run_until_it_fits({"memo", "memorize", path("store"), path("texts")}, [&](const Outcome& failed) {
    const auto list = config::Json::parse(done({"memo", "documents", path("store"), "--json"}));
    for (const auto& document : list["data"]) {
      const auto id = document["id"].get<std::string>();
      if (id == "early") continue;
      ++kept;
      EXPECT_THAT(failed.out, HasSubstr(id + ": "));
      EXPECT_THAT(failed.err, HasSubstr("the documents printed above are kept"));
    }
  });
  EXPECT_GE(kept, 1);
}

TEST_F(MemoFullDisk, Forget) {
  done({"memo", "memorize", path("store"), path("texts")});
  run_on_the_store({"memo", "forget", path("store"), "0", "2"});
}

TEST_F(MemoFullDisk, Update) {
  done({"memo", "memorize", path("store"), path("texts")});
  std::filesystem::remove(path("texts/0"));
  write_text(path("texts/1"), small_text(180));
  run_on_the_store({"memo", "update", path("store"), path("texts"), "--prune"});
}

TEST_F(MemoFullDisk, Repair) {
  done({"memo", "memorize", path("store"), path("texts")});
  run_on_the_store({"memo", "verify", path("store"), "--repair"});
}

TEST_F(MemoFullDisk, Rebuild) {
  run_on_the_store({"memo", "rebuild", path("store"), "--tokenizer", "bpe"});
}

/// The disk is full after the document is forgotten and before its text is erased.
TEST_F(MemoFullDisk, ForgettingThatFailedLateIsSaidAndFinishedLater) {
  write_text(path("texts/2"), small_text(200) + "wombat\n");
  done({"memo", "memorize", path("store"), path("texts")});
  const auto holds_text = [&] {  // 16 bits for each byte
    return read_file(path("store/ledger.sqlite")).find({"w\0o\0m\0b\0a\0t", 11}) !=
           std::string::npos;
  };
  ASSERT_TRUE(holds_text());
  done({"memo", "history", path("store"), "--begin"});
  int late = 0;
  run_until_it_fits({"memo", "forget", path("store"), "2"}, [&](const Outcome& failed) {
    if (failed.out.find("forgotten") == std::string::npos) return;
    ++late;
    const Outcome verify = tessera({"memo", "verify", path("store")});
    EXPECT_EQ(verify.status, 1);
    EXPECT_THAT(verify.out, HasSubstr("not verified"));
    EXPECT_THAT(verify.err, HasSubstr("the text of '2' is forgotten, but not erased"));
    EXPECT_THAT(tessera({"memo", "documents", path("store")}).err, HasSubstr("'2' is forgotten"));
    EXPECT_THAT(tessera({"memo", "stat", path("store")}).out, HasSubstr("'2' is forgotten"));
    if (late % 2 == 0)
      EXPECT_EQ(tessera({"memo", "forget", path("store"), "2"}).out,
                "2: had been forgotten before; its text is erased now\n");
    else
      EXPECT_EQ(tessera({"memo", "memorize", path("store"), path("none")}).status, 1);
    EXPECT_FALSE(holds_text());
    const auto history = config::Json::parse(done({"memo", "history", path("store"), "--json"}));
    EXPECT_EQ(history["data"].size(), 1u);
    EXPECT_THAT(tessera({"memo", "verify", path("store")}).out, HasSubstr(": verified"));
    EXPECT_EQ(tessera({"memo", "forget", path("store"), "2"}).status, 2);
  });
  EXPECT_GE(late, 1);
}

TEST_F(MemoFullDisk, Create) {
  run_beside({"memo", "create", path("new"), "--dimension", "128"});
}

TEST_F(MemoFullDisk, Merge) {
  run_beside({"memo", "merge", path("new"), path("store"), path("other")});
}

TEST_F(MemoFullDisk, Export) {
  run_beside({"memo", "export", path("store"), "--out", path("new")});
}

}  // namespace
}  // namespace tessera::cli
