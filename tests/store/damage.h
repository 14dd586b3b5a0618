#pragma once

#include <functional>

#include "tessera/store/sqlite.h"
#include "tests/store/small_stores.h"

namespace tessera::store {

/// A test with a store of two documents whose files are damaged.
class Damage : public StoreTest {
 protected:
  Damage() {
    memorize(store(), "one", document_text(1));
    memorize(store(), "two", document_text(2));
  }

  std::filesystem::path file(const std::string& name) const { return store() / name; }

  /// Changes a file, holds the complaint against `expected`, and puts the file back.
  void expect_noticed(const std::string& name, const std::string& expected,
                      const std::function<void(std::string&)>& change) {
    const std::string whole = read_file(file(name));
    std::string changed = whole;
    change(changed);
    ASSERT_NE(changed, whole);
    overwrite(file(name), changed);
    EXPECT_THAT(complaint(), ::testing::AllOf(HasSubstr(name), HasSubstr(expected)));
    overwrite(file(name), whole);
    EXPECT_EQ(complaint(), "");
  }

  void sql(const std::string& statements) {
    sqlite::Database database(file("ledger.sqlite"), sqlite::Access::kWrite);
    database.execute(statements);
  }

  /// The complaint after the ledger was altered; the alteration is taken back.
  std::string after_sql(const std::string& statements) {
    const std::string whole = read_file(file("ledger.sqlite"));
    sql(statements);
    const std::string message = complaint();
    overwrite(file("ledger.sqlite"), whole);
    EXPECT_EQ(complaint(), "");
    return message;
  }
};

}  // namespace tessera::store
