// Truncated, altered, foreign and missing files are named; nothing is ever read from them silently.

#include <sys/mount.h>

#include "tests/store/damage.h"

namespace tessera::store {
namespace {

/// The change that writes `to` in place of `from`.
auto in_place_of(const std::string& from, const std::string& to) {
  return [=](std::string& text) {
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
}

TEST_F(Damage, OfTheMatrix) {
  const std::string name = "memory.safetensors";
  expect_noticed(name, "is damaged: its checksum", [](auto& bytes) { bytes.back() ^= 1; });
  const std::string remedy = "; 'tessera memo verify --repair' rebuilds it from the ledger";
  expect_noticed(name, "the file is truncated" + remedy,
                 [](auto& bytes) { bytes.resize(bytes.size() - 100); });
  expect_noticed(name, "truncated or not a safetensors file" + remedy,
                 [](auto& bytes) { bytes.resize(40); });
  expect_noticed(name, "too few for a safetensors file" + remedy,
                 [](auto& bytes) { bytes.clear(); });
  expect_noticed(name, "checksum", in_place_of("\"change\":\"0\"", "\"change\":\"1\""));
  expect_noticed(name, "has format 'tessera-memo-matrix-7'", in_place_of("matrix-2", "matrix-7"));
  expect_noticed(name, "belongs to a store with", in_place_of("seed\\\":0", "seed\\\":1"));
  std::filesystem::remove(file(name));
  EXPECT_THAT(complaint(), HasSubstr("is missing; 'tessera memo verify --repair'"));
}

TEST_F(Damage, OfConfigurationAndTokenizer) {
  expect_noticed("config.json", "one of them was altered",
                 in_place_of("\"seed\": 0", "\"seed\": 1"));
  expect_noticed("config.json", "has format 3, this version of Tessera reads formats 1 and 2",
                 in_place_of("\"format\": 1", "\"format\": 3"));
  expect_noticed("config.json", "lacks 'heads'", in_place_of("\"heads\": 2,", ""));
  expect_noticed("config.json", "dimension", in_place_of("128", "100"));
  expect_noticed("config.json", "unknown key 'bead'", in_place_of("{", "{\"bead\": 1,"));
  expect_noticed("config.json", "not valid JSON", [](auto& text) { text.resize(30); });
  expect_noticed("config.json", "is not the configuration", [](auto& text) { text = "[]"; });
  expect_noticed("tokenizer.json", "not valid JSON", [](auto& text) { text.resize(10); });
  expect_noticed("tokenizer.json", "is not the tokenizer of this store", [](auto& text) {
    text = Tokenizer::characters("some other letters", EndOfText::kPresent).to_json();
  });
  std::filesystem::remove(file("tokenizer.json"));
  EXPECT_THAT(complaint(), HasSubstr("tokenizer.json: is missing; copy the one with the digest"));
  EXPECT_THAT(
      message_of<DataError>([&] { MemoStore(folder_ / "nothing"); }),
      HasSubstr(
          "nothing: is not a memo store: there is nothing of this name; 'tessera memo create'"));
  EXPECT_THAT(message_of<DataError>([&] { MemoStore{folder_.path()}; }),
              HasSubstr("is not a memo store: it has no config.json; 'tessera memo create'"));
}

TEST_F(Damage, OfTheLedgersFile) {
  const std::string name = "ledger.sqlite";
  expect_noticed(name, "is damaged", [](auto& bytes) { bytes.resize(bytes.size() - 4096); });
  expect_noticed(name, "is damaged", [](auto& bytes) { bytes.resize(5000); });
  expect_noticed(name, "file is not a database",
                 [](auto& bytes) { bytes = "not a database, by any means"; });
  expect_noticed(name, "is not the ledger", [](auto& bytes) { bytes.clear(); });
  expect_noticed(name, "are not the", [](auto& bytes) {
    bytes.at(bytes.find(std::string("t\0e\0l\0l\0s", 9))) ^= 1;  // in the tokens of a document
  });
  const std::string whole = read_file(file(name));
  int noticed = 0;
  for (size_t at = whole.find("two"); at != std::string::npos; at = whole.find("two", at + 1)) {
    std::string changed = whole;
    changed[at + 1] = 'W';
    overwrite(file(name), changed);
    noticed += !complaint().empty();
  }
  EXPECT_GE(noticed, 2) << "in the table and in its index";
  std::filesystem::remove(file(name));
  EXPECT_THAT(complaint(), HasSubstr("ledger.sqlite: is missing"));
  EXPECT_FALSE(std::filesystem::exists(file(name))) << "made a ledger where there was none";
}

TEST_F(Damage, OfWhatTheLedgerSays) {
  for (const auto& [change, named] : std::vector<std::pair<const char*, const char*>>{
           {"DELETE FROM pieces WHERE document = 1", "are not the"},
           {"UPDATE pieces SET tokens = x'4100' WHERE document = 1",
            "document 1: piece 0 has 2 bytes"},
           {"UPDATE pieces SET tokens = 'text' WHERE document = 1", "another type"},
           {"INSERT INTO pieces VALUES (1, 1, x'')", "document 1: piece 1 follows its"},
           {"UPDATE documents SET pairs = pairs + 1 WHERE number = 1", "'one' gives"},
           {"UPDATE documents SET tokens = tokens - 1 WHERE number = 1", "document 1"},
           {"DELETE FROM documents WHERE number = 1", "pairs"},
           {"UPDATE store SET last_change = 1", "the journal lacks change 1"},
           {"UPDATE store SET last_change = 2; INSERT INTO changes VALUES (2, 'forget', "
            "1, 1, '')",
            "the journal lacks change 1"},
           {"UPDATE store SET last_change = 1; INSERT INTO changes VALUES (1, 'alter', "
            "1, 1, '')",
            "a change of the kind 'alter'"},
           {"UPDATE settled SET digest = 'x'", "is older or newer than the ledger beside it"},
           {"INSERT INTO settled VALUES (1, 'x')", "2 matrices are settled, the store has 1"},
           {"INSERT INTO settled VALUES (7, 'x')", "matrix 7 is settled after 1 others"},
           {"DELETE FROM store", "was created with"},
           {"DROP TABLE documents",
            "ledger.sqlite: its tables are not those of a ledger; it was altered"},
           {"PRAGMA user_version = 6",
            "has format 6, this version of Tessera reads formats 1 to 5"},
           {"PRAGMA user_version = 4", "its tables are not those of a ledger"},
           {"PRAGMA application_id = 2", "is not the ledger of a memo store"}})
    EXPECT_THAT(after_sql(change), HasSubstr(named)) << change;
}

TEST_F(Damage, AWrongMatrixWithARightChecksum) {
  const auto other = store_of("other", {3, 4});
  std::filesystem::copy_file(other / "memory.safetensors", file("memory.safetensors"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(complaint(), "");
}

/// What is to take the matrix's place is only believed where the ledger names it.
TEST_F(Damage, OfAMatrixThatIsNotInPlaceYet) {
  const std::string before = digest(store()), next = "memory.safetensors.settled";
  overwrite(file(next), "not a matrix");
  EXPECT_EQ(complaint(), "");
  memorize(store(), "three", document_text(3));
  EXPECT_FALSE(std::filesystem::exists(file(next)));
  forget(store(), "three");
  EXPECT_EQ(digest(store()), before);
}

TEST_F(Damage, OfTheMatrixIsRepaired) {
  const std::string before = digest(store());
  for (const std::string& content : {std::string(), std::string(1000, 'x')}) {
    overwrite(file("memory.safetensors"), content);
    EXPECT_NE(complaint(), "");
    EXPECT_THROW(forget(store(), "one"), DataError);
    MemoWriter writer(store());
    writer.rebuild();
    writer.checkpoint();
    EXPECT_EQ(complaint(), "");
    EXPECT_EQ(digest(store()), before);
  }
}

/// A file system of its own, too small for what is to come; nothing where that is not allowed.
class SmallDisk {
 public:
  explicit SmallDisk(const std::filesystem::path& place) : place_(place) {
    std::filesystem::create_directory(place);
    mounted_ = ::mount("none", place.c_str(), "tmpfs", 0, "size=400k") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(place_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  void remount(unsigned long flags) const {
    ASSERT_EQ(::mount("none", place_.c_str(), "tmpfs", MS_REMOUNT | flags, "size=400k"), 0);
  }

 private:
  std::filesystem::path place_;
  bool mounted_ = false;
};

/// A store with one document on such a disk.
class StoreOnASmallDisk : public StoreTest {
 protected:
  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "this user may not mount a file system";
    create(path_, byte_tokenizer());
    memorize(path_, "one", document_text(1));
  }

  const SmallDisk disk_{folder_ / "disk"};
  const std::filesystem::path path_ = store("disk/store");
};

TEST_F(StoreOnASmallDisk, AFullDiskLeavesTheStoreAsItWas) {
  const std::string before = digest(path_);
  std::string long_text;
  while (long_text.size() < 300000) long_text += document_text(static_cast<int>(long_text.size()));
  EXPECT_THAT(message_of<SystemError>([&] { memorize(path_, "long", long_text); }),
              HasSubstr("No space left on device"));
  EXPECT_EQ(digest(path_), before);
  EXPECT_EQ(verify(MemoStore(path_)).totals.documents, 1);
  // Little enough for the ledger, too much for the matrix beside it.
  overwrite(folder_ / "disk/filler", std::string(170000, 'x'));
  bool full = false;
  for (int number = 2; number < 30 && !full; ++number)
    full = message_of<SystemError>(
               [&] { memorize(path_, std::to_string(number), document_text(number)); }) != "";
  EXPECT_TRUE(full);
  EXPECT_EQ(verify(MemoStore(path_)).digest, digest(path_));
  std::filesystem::remove(folder_ / "disk/filler");
  memorize(path_, "last", document_text(40));
  EXPECT_EQ(verify(MemoStore(path_)).digest, digest(path_));
}

/// Room that the matrix beside the old one has taken is not made once more.
TEST_F(StoreOnASmallDisk, AMatrixThatIsWrittenAlreadyNeedsNoRoom) {
  MemoWriter writer(path_);
  writer.forget("one");
  writer.write_matrices();
  overwrite(folder_ / "disk/filler", std::string(400000, 'x'));
  EXPECT_THROW(writer.checkpoint(), SystemError);
  EXPECT_TRUE(std::filesystem::exists(path_ / "memory.safetensors"));
  std::filesystem::remove(folder_ / "disk/filler");
  writer.checkpoint();
  EXPECT_EQ(verify(MemoStore(path_)).totals.documents, 0);
}

TEST_F(StoreOnASmallDisk, IsReadWhereNobodyCanWrite) {
  disk_.remount(MS_RDONLY);
  EXPECT_EQ(text_of(MemoStore(path_), "one"), document_text(1));
  EXPECT_EQ(verify(MemoStore(path_)).totals.documents, 1);
  EXPECT_THROW(memorize(path_, "two", document_text(2)), SystemError);
}

/// SQLite's log of a process that was killed counts there, too: else what it forgot is there again.
TEST_F(StoreOnASmallDisk, WhatAKilledProcessDidIsSeenWhereNobodyCanWrite) {
  {
    MemoWriter writer(path_);
    writer.memorize("two", document_text(2), Duplicates::kRefuse);
    writer.forget("one");
    std::filesystem::copy(path_, store("killed"));
  }
  std::filesystem::remove_all(path_);
  std::filesystem::copy(store("killed"), path_);
  disk_.remount(MS_RDONLY);
  EXPECT_EQ(ids(MemoStore(path_)), std::vector<std::string>{"two"});
  disk_.remount(0);
  std::filesystem::remove(path_ / "ledger.sqlite-shm");
  disk_.remount(MS_RDONLY);
  EXPECT_THAT(message_of<SystemError>([&] { MemoStore{path_}; }),
              HasSubstr("copy the store to a folder that you may write to"));
  disk_.remount(0);
  overwrite(path_ / "ledger.sqlite-wal", "");  // nothing is missing then
  disk_.remount(MS_RDONLY);
  EXPECT_EQ(ids(MemoStore(path_)).size(), 1u);
}

}  // namespace
}  // namespace tessera::store
