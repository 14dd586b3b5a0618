#include "tessera/store/sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tests/support/largest_file.h"
#include "tests/support/temporary_folder.h"

namespace tessera::store::sqlite {
namespace {

/// A store that is read while texts are erased from it: readers that open a full-text index just
/// as a VACUUM ends find another schema than the one that they began to read.
TEST(Sqlite, ReadersOpenAnIndexWhileAWriterVacuums) {
  const test::TemporaryFolder folder(test::folder_in_memory());
  const auto path = folder / "words.sqlite";
  Database writer(path, Access::kWrite);
  writer.execute("PRAGMA journal_mode = WAL; CREATE VIRTUAL TABLE words USING fts5 (text)");
  std::atomic<bool> written = false;
  std::atomic<int> opened = 0;
  const auto read = [&] {
    do {
      const Database reader(path, Access::kRead);
      Statement rows(reader, "SELECT count(*) FROM words WHERE words MATCH 'a'");
      opened += rows.step();
    } while (!written);
  };
  std::thread first(read), second(read);
  for (int n = 0; n < 300; ++n) {
    writer.execute("INSERT INTO words VALUES ('a b c')");
    writer.execute("VACUUM");
  }
  written = true;
  first.join();
  second.join();
  EXPECT_GT(opened, 2);
}

TEST(Database, ATextThatIsTooLongIsNoDamage) {
  const Database database(":memory:", Access::kWrite);
  EXPECT_THROW(Statement(database, "SELECT length(?1)", std::string((16 << 20) + 1, 'a')),
               UsageError);
}

TEST(Database, AFullFileIsNotLaidToAnEarlierCall) {
  const test::TemporaryFolder folder(test::folder_in_memory());
  Database database(folder / "small.sqlite", Access::kWrite);
  database.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a); PRAGMA max_page_count = 2");
  errno = EFBIG;
  EXPECT_THAT(test::message_of<SystemError>([&] { database.execute("CREATE TABLE u (a)"); }),
              testing::HasSubstr("No space left on device"));
}

TEST(Database, StillWaitsForOthersAfterALogThatCannotBeEmptied) {
  const test::TemporaryFolder folder(test::folder_in_memory());
  Database database(folder / "log.sqlite", Access::kWrite);
  database.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a)");
  {
    const test::LargestFile full(512);
    EXPECT_THROW(database.empty_log({}), SystemError);
  }
  Statement patience(database, "PRAGMA busy_timeout");
  ASSERT_TRUE(patience.step());
  EXPECT_GT(patience.integer(0), 0);
}

TEST(Database, KnowsWhetherAnyStateOfItIsRead) {
  const test::TemporaryFolder folder(test::folder_in_memory());
  const auto path = folder / "read.sqlite";
  Database writer(path, Access::kWrite);
  EXPECT_FALSE(writer.is_read()) << "there is no log yet";
  writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a)");
  Database reader(path, Access::kRead);
  for (const bool log_is_empty : {false, true}) {
    if (log_is_empty) writer.empty_log({});
    {
      const Transaction snapshot(reader, Access::kRead);
      EXPECT_FALSE(writer.is_read()) << "nothing is read yet";
      Statement(reader, "SELECT * FROM t").run();
      EXPECT_TRUE(writer.is_read()) << log_is_empty;
    }
    EXPECT_FALSE(writer.is_read()) << log_is_empty;
  }
}

TEST(Statement, HasNothingOfTheOneBeforeIt) {
  const Database database(":memory:", Access::kWrite);
  const std::string sql = "SELECT ?1 UNION ALL SELECT 'end'";
  {
    Statement first(database, sql, "one"), second(database, sql, "two");
    ASSERT_TRUE(first.step() && second.step());
    EXPECT_EQ(first.text(0) + second.text(0), "onetwo");
  }
  Statement third(database, sql);
  ASSERT_TRUE(third.step());
  EXPECT_THROW(third.text(0), DataError) << "it has no value";
  EXPECT_TRUE(third.step());
  EXPECT_FALSE(third.step());
}

TEST(Database, ADamagedLengthIsNoLackOfMemory) {
  const test::TemporaryFolder folder(test::folder_in_memory());
  const auto path = folder / "text.sqlite";
  Database(path, Access::kWrite)
      .execute("PRAGMA page_size = 512; CREATE TABLE t (a TEXT); CREATE INDEX i ON t (a)");
  std::string bytes = read_file(path);
  const size_t row = bytes.find("indexit") - 8;  // of the schema, from the length of its text
  bytes.replace(row, 7, "\xff\xff\xff\xff\xff\xff\x6d");
  write_file(path, bytes);
  EXPECT_THROW(Database(path, Access::kRead), DataError);
}

}  // namespace
}  // namespace tessera::store::sqlite
