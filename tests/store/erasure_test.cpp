// After a forget nothing of the document is left in any file of the store.

#include <memory>

#include "tessera/store/verify.h"
#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

/// As the ledger writes the tokens of bytes: 16 bits each.
std::string as_tokens(const std::string& text) {
  std::string bytes;
  for (const char letter : text) bytes.append({letter, '\0'});
  return bytes;
}

/// Files of the store that hold these bytes.
std::vector<std::string> holders(const std::filesystem::path& store, const std::string& bytes) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(store))
    if (read_file(entry.path()).find(bytes) != std::string::npos)
      names.push_back(entry.path().filename());
  return names;
}

/// A long document with no twelve letters in common with another.
std::string secret(int number) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "secret " + std::to_string(number * 1000 + i) + ", ";
  return text;
}

std::string excerpt(int number) {
  return "et " + std::to_string(number * 1000 + 17) + ", s";
}

class Erasure : public StoreTest {
 protected:
  void expect_gone(const std::filesystem::path& path, int number) {
    EXPECT_THAT(holders(path, as_tokens(excerpt(number))), ::testing::IsEmpty()) << number;
    EXPECT_THAT(holders(path, excerpt(number)), ::testing::IsEmpty()) << number;
    EXPECT_THAT(holders(path, "name-" + std::to_string(number)), ::testing::IsEmpty()) << number;
  }
};

TEST_F(Erasure, NothingIsLeftOfWhatWasForgotten) {
  {
    MemoWriter writer(store());
    for (int number = 100; number < 140; ++number)
      writer.memorize("name-" + std::to_string(number), secret(number), Duplicates::kRefuse);
    writer.checkpoint();
  }
  EXPECT_THAT(holders(store(), as_tokens(excerpt(117))), ::testing::Contains("ledger.sqlite"))
      << "the test looks for the wrong bytes";
  // In an order in which rows are moved from page to page.
  for (int number = 100; number < 140; number += 3) {
    forget(store(), "name-" + std::to_string(number));
    expect_gone(store(), number);
  }
  for (int number = 100; number < 140; number += 3) expect_gone(store(), number);
}

TEST_F(Erasure, NothingIsLeftOfWhatWasReplaced) {
  memorize(store(), "name", secret(100));
  memorize(store(), "name", secret(101), Duplicates::kReplace);
  expect_gone(store(), 100);
}

TEST_F(Erasure, AWriterThatWasKilledIsMadeUpFor) {
  memorize(store(), "name-100", secret(100));
  memorize(store(), "name-101", secret(101));
  { MemoWriter(store()).forget("name-100"); }
  EXPECT_THAT(holders(store(), as_tokens(excerpt(100))), ::testing::Not(::testing::IsEmpty()));
  EXPECT_TRUE(MemoStore(store()).ledger().erasure_pending());
  EXPECT_THAT(MemoStore(store()).ledger().unerased(), ::testing::ElementsAre("name-100"));
  EXPECT_TRUE(verify(MemoStore(store())).erasure_pending);
  MemoWriter{store()};
  expect_gone(store(), 100);
  EXPECT_FALSE(verify(MemoStore(store())).erasure_pending);
  EXPECT_THAT(MemoStore(store()).ledger().unerased(), ::testing::IsEmpty());
  EXPECT_THAT(holders(store(), as_tokens(excerpt(101))), ::testing::Contains("ledger.sqlite"));
}

/// Two stores that hold the same documents have the same bytes, whatever else one of them held, and
/// however many commands it took.
TEST_F(Erasure, EveryFileIsThatOfAStoreThatNeverHeldIt) {
  const auto memorize = [](const std::filesystem::path& path, const std::vector<int>& documents) {
    MemoWriter writer(path);
    for (const int number : documents)
      writer.memorize("name-" + std::to_string(number), secret(number), Duplicates::kReplace, {},
                      {{"page", std::to_string(number)}}, Times::kNone);
    writer.checkpoint();
  };
  for (const int32_t shards : {1, 3}) {
    memo::TextMemoryConfig memory = small_memory();
    memory.shards = shards;
    const auto forgot = store("forgot" + std::to_string(shards)),
               never = store("never" + std::to_string(shards));
    for (const auto& path : {forgot, never}) MemoStore::create(path, memory, byte_tokenizer());
    memorize(forgot, {100, 101, 102, 103});
    memorize(forgot, {104});
    for (const int number : {101, 103}) forget(forgot, "name-" + std::to_string(number));
    memorize(forgot, {105});
    for (const int number : {100, 102, 104}) memorize(never, {number});
    memorize(never, {105});
    for (const auto& entry : std::filesystem::directory_iterator(forgot)) {
      const auto name = entry.path().filename();
      EXPECT_TRUE(read_file(forgot / name) == read_file(never / name)) << name << shards;
    }
    for (const int number : {100, 102, 104, 105}) forget(forgot, "name-" + std::to_string(number));
    MemoStore::create(store("empty"), memory, byte_tokenizer());
    for (const auto& entry : std::filesystem::directory_iterator(store("empty")))
      EXPECT_TRUE(read_file(entry.path()) == read_file(forgot / entry.path().filename()))
          << entry.path().filename();
    std::filesystem::remove_all(store("empty"));
  }
}

/// A command that was killed at its very end leaves numbers in the file that count its changes.
TEST_F(Erasure, TheNextWriterEndsWhatAKilledOneDidNotCount) {
  const auto ledger = store() / "ledger.sqlite";
  memorize(store(), "name-101", secret(101));
  const std::string settled = read_file(ledger);
  std::string killed = settled;
  for (const size_t offset : {43, 95}) killed[offset] = 7;
  overwrite(ledger, killed);
  MemoWriter(store()).checkpoint();
  EXPECT_TRUE(read_file(ledger) == settled);
}

/// What a killed command left in SQLite's log is said, and gone with the next writer.
TEST_F(Erasure, TheLogOfAKilledCommandIsEmptied) {
  {
    MemoWriter writer(store());
    writer.memorize("name-101", secret(101), Duplicates::kRefuse);
    EXPECT_THROW(writer.memorize("name-100", secret(100), Duplicates::kRefuse,
                                 [&](int64_t done, int64_t tokens) {
                                   if (done == tokens && done > 0) throw Interrupted("");
                                 }),
                 Interrupted);
    std::filesystem::copy(store(), store("killed"));
  }
  EXPECT_GT(verify(MemoStore(store("killed"))).log_bytes, 0);
  { MemoWriter opened(store("killed")); }
  EXPECT_EQ(verify(MemoStore(store("killed"))).log_bytes, 0);
  expect_gone(store("killed"), 100);
  EXPECT_EQ(ids(MemoStore(store("killed"))), std::vector<std::string>{"name-101"});
}

/// Neither the words in the full-text index nor metadata.
TEST_F(Erasure, NothingIsLeftOfWordsAndMetadata) {
  {
    MemoWriter writer(store());
    writer.memorize("one", "Call me Ishmael. The harpooneer is Queequeg.\n", Duplicates::kRefuse,
                    {}, {{"ship", "the-pequod"}});
    writer.memorize("two", "The white whale is far away.\n", Duplicates::kRefuse);
    writer.checkpoint();
  }
  for (const char* words : {"Queequeg", "ueequeg", "shmael", "the-pequod"})
    EXPECT_THAT(holders(store(), words), ::testing::Not(::testing::IsEmpty())) << words;
  forget(store(), "one");
  for (const char* words : {"Queequeg", "ueequeg", "shmael", "arpoon", "the-pequod"})
    EXPECT_THAT(holders(store(), words), ::testing::IsEmpty()) << words;
  EXPECT_TRUE(MemoStore(store()).ledger().search("queequeg", 0).empty());
  EXPECT_EQ(MemoStore(store()).ledger().search("whales", 0).size(), 1u);
  memorize(store(), "two", "The sea is calm.\n", Duplicates::kReplace);
  EXPECT_THAT(holders(store(), "whale"), ::testing::IsEmpty());
}

/// However long a writer is busy, a reader is in the way of its checkpoint() alone.
TEST_F(Erasure, AReaderDoesNotDisturbEdits) {
  memorize(store(), "name-100", secret(100));
  auto reader = std::make_unique<MemoStore>(store());
  MemoWriter writer(store());
  writer.forget("name-100");
  for (int edit = 0; edit < 200; ++edit) {
    writer.memorize("name-101", secret(101), Duplicates::kRefuse);
    writer.forget("name-101");
  }
  EXPECT_EQ(text_of(*reader, "name-100"), secret(100));
  reader.reset();
  writer.checkpoint();
  for (const int number : {100, 101}) expect_gone(store(), number);
}

}  // namespace
}  // namespace tessera::store
