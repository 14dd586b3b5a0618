#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

struct sqlite3;
struct sqlite3_stmt;

namespace tessera::store::sqlite {

enum class Access { kRead, kWrite };

/// One connection to an SQLite file, for one thread. Failures are thrown as DataError if the file
/// is damaged or not a database, as SystemError if the operating system refused something (disk
/// full, no permission), as std::runtime_error if another process is using it.
class Database {
 public:
  /// Opens the file; kWrite creates it if it is missing. On a read-only file system, or in a folder
  /// that this user must not write to and nobody writes in, it is read without locks. An empty
  /// path: a database of its own, of which SQLite puts what its cache does not hold into a file
  /// without a name, in the folder that SQLITE_TMPDIR names, or TMPDIR, else in /var/tmp.
  Database(const std::filesystem::path& path, Access access);

  /// Runs one or several SQL statements and ignores their rows.
  void execute(const std::string& sql);
  const std::string& path() const { return path_; }
  /// Makes another database file readable in statements, as the schema `name`.
  void attach(const std::filesystem::path& path, const std::string& name);
  /// Rows that this connection has inserted, altered or deleted.
  int64_t changes() const;
  /// Gets every page of the other, in one transaction: readers see all of it or nothing.
  void replace_by(const Database& other);
  /// Waits until the log is on the disk. With `PRAGMA synchronous = FULL` every commit does.
  void sync_log();
  /// Moves what the log holds into the file and empties the log; false, if another process still
  /// reads what was before when this time is over.
  bool empty_log(std::chrono::milliseconds patience);
  /// The same if nobody reads, and sets the numbers in the file's header that count its changes to
  /// 1, so that the file shows its content alone. Those numbers mean nothing while there is no log.
  bool empty_log_and_counts();
  /// Whether it has done so since the last change, and was not killed before it ended.
  bool has_empty_counts() const;
  /// Whether another connection reads a state of the file now, be it the newest: as long as it
  /// does, the log of a change cannot be emptied. To be asked while this connection reads nothing.
  bool is_read() const;
  /// Statements ask this now and then while they run, at least once for a piece of a document;
  /// where it is true they throw tessera::Interrupted. {}: never.
  void interrupt_when(std::function<bool()> condition);

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;
  [[noreturn]] void fail(int code) const;
  void check(int code) const;

  std::string path_;
  std::unique_ptr<std::function<bool()>> interrupts_;  // its address is SQLite's
  std::unique_ptr<sqlite3, Close> connection_;
  mutable std::unordered_multimap<std::string, Prepared> idle_;  // no Statement has them; by SQL
};

/// A prepared statement; its parameters (?1, ?2, …) are bound in order. Throws UsageError on a text
/// of more than 16 MiB among them. The database, which must outlive it, keeps it for the next one
/// with this SQL: to prepare it takes longer than to find a row.
///
///     Statement rows(database, "SELECT id FROM documents WHERE tokens > ?1", 100);
///     while (rows.step()) use(rows.text(0));
class Statement {
 public:
  Statement(const Database& database, std::string_view sql);
  template <typename... Values>
  Statement(const Database& database, std::string_view sql, const Values&... values)
      : Statement(database, sql) {
    bind_all(values...);
  }
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds new values for another run.
  template <typename... Values>
  void bind_all(const Values&... values) {
    reset();
    [[maybe_unused]] int parameter = 0;
    (bind(++parameter, values), ...);
  }
  /// Moves to the next row; false if there is none.
  bool step();
  /// Runs the statement to its end.
  void run();

  /// Columns of the row, from 0. Throws DataError on a value of another type: the file was altered.
  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  /// Valid until the next step.
  std::span<const std::byte> blob(int column) const;

 private:
  void reset();
  void bind(int parameter, int64_t value);
  void bind(int parameter, std::string_view value);
  void bind(int parameter, std::span<const std::byte> value);
  void expect_type(int column, int type) const;

  const Database* database_;
  Database::Prepared statement_;
};

/// The numbers of rows that are read in this order: of damaged pages that refer to each other the
/// same could come for ever.
class Ascending {
 public:
  /// what: they number, for the message; all are above `last`.
  Ascending(const Database& database, std::string_view what, int64_t last = INT64_MIN)
      : database_(database), what_(what), last_(last) {}

  /// Returns the next number. Throws DataError unless it is above the one before.
  int64_t next(int64_t number);

 private:
  const Database& database_;
  std::string_view what_;
  int64_t last_;
};

/// A transaction that is rolled back unless commit() is called. kRead: all rows read in it are from
/// one moment, whatever is written meanwhile.
class Transaction {
 public:
  Transaction(Database& database, Access access);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace tessera::store::sqlite
