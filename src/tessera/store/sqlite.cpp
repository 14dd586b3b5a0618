#include "tessera/store/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/file.h"

namespace tessera::store::sqlite {
namespace {

constexpr int kBusyMilliseconds = 10000;
constexpr int kLongestValue = 16 << 20;        // bytes; more than any row of a ledger
constexpr int kCachedKib = 64 << 10;           // at most, of pages that were read
constexpr int kInstructionsBetweenLooks = 10;  // of a statement, at whether to go on
constexpr int kManner = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;

/// The path as SQLite's URI, in which '%', '?' and '#' have a meaning and two slashes begin a host.
std::string uri_of(const std::filesystem::path& path, std::string_view query) {
  std::string uri = path.is_absolute() ? "file://" : "file:";
  for (const char letter : path.native())
    if (letter == '%' || letter == '?' || letter == '#')
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    else
      uri += letter;
  return uri.append(query);
}

/// In a folder that it must not write to, a reader cannot create SQLite's lock files. It needs none
/// while nobody else has the file open and no log is left there: what a process that was killed put
/// into the log counts.
bool stays_as_it_is(const std::filesystem::path& path) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (::access(folder.c_str(), W_OK) == 0 || (errno != EROFS && errno != EACCES)) return false;
  const std::string log = path.native() + "-wal", index = path.native() + "-shm";
  const bool is_open = ::access(log.c_str(), F_OK) == 0 && ::access(index.c_str(), F_OK) == 0;
  return !is_open && file_bytes(log) == 0;
}

/// Calls it with errno 0. A statement about a full-text index is prepared, or prepared again by its
/// first step, in two reads: the tables' names, then the index's settings. A VACUUM that another
/// connection commits between the two fails it with SQLITE_SCHEMA.
template <typename Call>
int while_schema_changes(Call&& call) {
  constexpr int kTries = 100;
  int code = SQLITE_SCHEMA;
  errno = 0;
  for (int tries = 0; tries < kTries && (code & 0xFF) == SQLITE_SCHEMA; ++tries) code = call();
  return code;
}

}  // namespace

void Database::Close::operator()(sqlite3* connection) const {
  ::sqlite3_close_v2(connection);
}

Database::Database(const std::filesystem::path& path, Access access)
    : path_(path.empty() ? "SQLite's temporary file (SQLITE_TMPDIR names its folder)"
                         : path.native()) {
  const int flags =
      access == Access::kWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  sqlite3* connection = nullptr;
  errno = 0;
  const int code =
      ::sqlite3_open_v2(uri_of(path, stays_as_it_is(path) ? "?immutable=1" : "").c_str(),
                        &connection, flags | kManner, nullptr);
  connection_.reset(connection);
  check(code);
  ::sqlite3_busy_timeout(connection, kBusyMilliseconds);
  ::sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, kLongestValue);
  // Only a database that is thrown away may do without a journal.
  ::sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, path.empty() ? 0 : 1, nullptr);
  ::sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  execute("PRAGMA cell_size_check = ON");
  execute(fmt::format("PRAGMA cache_size = -{}", kCachedKib));
}

void Database::interrupt_when(std::function<bool()> condition) {
  ::sqlite3_progress_handler(connection_.get(), 0, nullptr, nullptr);
  interrupts_ = std::make_unique<std::function<bool()>>(std::move(condition));
  if (!*interrupts_) return;
  ::sqlite3_progress_handler(
      connection_.get(), kInstructionsBetweenLooks,
      [](void* interrupts) -> int { return (*static_cast<std::function<bool()>*>(interrupts))(); },
      interrupts_.get());
}

void Database::execute(const std::string& sql) {
  errno = 0;
  check(::sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

void Database::attach(const std::filesystem::path& path, const std::string& name) {
  Statement(*this, "ATTACH ?1 AS " + name, uri_of(path, "")).run();
}

int64_t Database::changes() const {
  return ::sqlite3_total_changes64(connection_.get());
}

void Database::replace_by(const Database& other) {
  errno = 0;
  sqlite3_backup* copying =
      ::sqlite3_backup_init(connection_.get(), "main", other.connection_.get(), "main");
  if (copying == nullptr) fail(::sqlite3_errcode(connection_.get()));
  ::sqlite3_backup_step(copying, -1);
  check(::sqlite3_backup_finish(copying));
}

void Database::sync_log() {
  sqlite3_file* log = nullptr;
  errno = 0;
  check(::sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log));
  if (log != nullptr && log->pMethods != nullptr)
    check(log->pMethods->xSync(log, SQLITE_SYNC_NORMAL));
}

bool Database::empty_log(std::chrono::milliseconds patience) {
  ::sqlite3_busy_timeout(connection_.get(), static_cast<int>(patience.count()));
  const std::shared_ptr<sqlite3> set_back(connection_.get(), [](sqlite3* connection) {
    ::sqlite3_busy_timeout(connection, kBusyMilliseconds);
  });
  Statement log(*this, "PRAGMA wal_checkpoint(TRUNCATE)");
  const bool kept = log.step() && log.integer(0) != 0;
  log.run();
  return !kept;
}

bool Database::empty_log_and_counts() {
  constexpr std::array<sqlite3_int64, 3> kCounts = {24, 92, 40};  // changes, and again, schemas
  constexpr std::array<uint8_t, 4> kOne = {0, 0, 0, 1};           // sqlite.org/fileformat2.html
  if (!empty_log({})) return false;
  sqlite3_file* file = nullptr;
  check(::sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file));
  for (const sqlite3_int64 offset : kCounts)
    check(file->pMethods->xWrite(file, kOne.data(), kOne.size(), offset));
  check(file->pMethods->xSync(file, SQLITE_SYNC_NORMAL));
  return true;
}

bool Database::has_empty_counts() const {
  Statement schemas(*this, "PRAGMA schema_version");  // which is written last
  return schemas.step() && schemas.integer(0) == 1;
}

bool Database::is_read() const {
  constexpr int kFirst = 3, kLocks = 5;  // one of them is a reader's: sqlite.org/walformat.html
  sqlite3_file* file = nullptr;
  check(::sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file));
  const auto all = [&](int action) {
    return file->pMethods->xShmLock(file, kFirst, kLocks, action | SQLITE_SHM_EXCLUSIVE);
  };
  const int code = all(SQLITE_SHM_LOCK);
  if (code == SQLITE_BUSY) return true;
  if (code == SQLITE_IOERR_SHMLOCK) return false;  // there is no log: readers keep writers out
  check(code);
  check(all(SQLITE_SHM_UNLOCK));
  return false;
}

void Database::check(int code) const {
  if (code != SQLITE_OK) fail(code);
}

void Database::fail(int code) const {
  // SQLite does not report why a commit failed; errno does, which is 0 before a statement.
  const int last = errno == ENOSPC || errno == EFBIG || errno == EDQUOT ? errno : 0;
  const int known = connection_ ? ::sqlite3_system_errno(connection_.get()) : 0;
  const int system = known != 0 ? known : last;
  const bool lacks_lock_files =
      code == SQLITE_READONLY_CANTINIT || code == SQLITE_READONLY_DIRECTORY ||
      (code == SQLITE_CANTOPEN && system == ENOENT && ::access(path_.c_str(), R_OK) == 0);
  if (lacks_lock_files)
    throw SystemError(path_,
                      "create SQLite's lock files beside it (copy the store to a folder that you "
                      "may write to)",
                      EACCES);
  switch (code & 0xFF) {
    case SQLITE_NOMEM:
      // Also where it believes a length that is damaged: then there is memory for the longest.
      if (void* memory = ::sqlite3_malloc64(kLongestValue)) {
        ::sqlite3_free(memory);
        break;
      }
      throw std::bad_alloc();
    case SQLITE_INTERRUPT:
      throw Interrupted(path_ + ": reading was given up");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_SCHEMA:
      throw std::runtime_error(path_ + ": another process is using it; try again");
    case SQLITE_FULL:
      throw SystemError(path_, "write", system != 0 ? system : ENOSPC);
    case SQLITE_READONLY:
      if (::access(path_.c_str(), W_OK) == 0) break;  // the file marks itself as read-only
      throw SystemError(path_, "write", system != 0 ? system : EACCES);
    case SQLITE_PERM:
    case SQLITE_AUTH:
      throw SystemError(path_, "write", system != 0 ? system : EACCES);
    case SQLITE_CANTOPEN:
      throw SystemError(path_, "open", system != 0 ? system : ENOENT);
    case SQLITE_IOERR:
      if (code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_DATA) break;
      throw SystemError(path_, last != 0 ? "write" : "read or write", system != 0 ? system : EIO);
    default:
      break;
  }
  throw DataError(path_, "is damaged, or is not a ledger ({})",
                  connection_ ? ::sqlite3_errmsg(connection_.get()) : ::sqlite3_errstr(code));
}

void Database::Finalize::operator()(sqlite3_stmt* statement) const {
  ::sqlite3_finalize(statement);
}

Statement::Statement(const Database& database, std::string_view sql) : database_(&database) {
  if (auto idle = database.idle_.extract(std::string(sql))) {
    statement_ = std::move(idle.mapped());
    return;
  }
  sqlite3_stmt* statement = nullptr;
  const int code = while_schema_changes([&] {
    return ::sqlite3_prepare_v2(database.connection_.get(), sql.data(),
                                static_cast<int>(sql.size()), &statement, nullptr);
  });
  statement_.reset(statement);
  database.check(code);
}

Statement::~Statement() {
  reset();
  ::sqlite3_clear_bindings(statement_.get());
  try {
    database_->idle_.emplace(::sqlite3_sql(statement_.get()), std::move(statement_));
  } catch (const std::bad_alloc&) {  // then it is prepared again
  }
}

void Statement::reset() {
  ::sqlite3_reset(statement_.get());
}

void Statement::bind(int parameter, int64_t value) {
  database_->check(::sqlite3_bind_int64(statement_.get(), parameter, value));
}

void Statement::bind(int parameter, std::string_view value) {
  check_argument(value.size() <= static_cast<size_t>(kLongestValue),
                 "a text of {} bytes; at most {} can be stored or looked for", value.size(),
                 kLongestValue);
  database_->check(::sqlite3_bind_text64(statement_.get(), parameter, value.data(), value.size(),
                                         SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind(int parameter, std::span<const std::byte> value) {
  database_->check(::sqlite3_bind_blob64(statement_.get(), parameter, value.data(), value.size(),
                                         SQLITE_TRANSIENT));
}

bool Statement::step() {
  const int code = while_schema_changes([&] {
    const int result = ::sqlite3_step(statement_.get());
    if (result == SQLITE_SCHEMA) reset();  // it fails so before the first row alone
    return result;
  });
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_->fail(code);
  reset();
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

void Statement::expect_type(int column, int type) const {
  if (::sqlite3_column_type(statement_.get(), column) != type)
    throw DataError(database_->path(), "column {} of '{}' has a value of another type than written",
                    column, ::sqlite3_sql(statement_.get()));
}

int64_t Statement::integer(int column) const {
  expect_type(column, SQLITE_INTEGER);
  return ::sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  expect_type(column, SQLITE_FLOAT);
  return ::sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
  expect_type(column, SQLITE_TEXT);
  const auto* text = reinterpret_cast<const char*>(::sqlite3_column_text(statement_.get(), column));
  return {text, static_cast<size_t>(::sqlite3_column_bytes(statement_.get(), column))};
}

std::span<const std::byte> Statement::blob(int column) const {
  expect_type(column, SQLITE_BLOB);
  const auto* bytes =
      static_cast<const std::byte*>(::sqlite3_column_blob(statement_.get(), column));
  return {bytes, static_cast<size_t>(::sqlite3_column_bytes(statement_.get(), column))};
}

int64_t Ascending::next(int64_t number) {
  if (number <= last_)
    throw DataError(database_.path(), "{0} {1} follows {0} {2}", what_, number, last_);
  return last_ = number;
}

Transaction::Transaction(Database& database, Access access) : database_(database) {
  database.execute(access == Access::kWrite ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const std::exception&) {  // after an error SQLite has already rolled it back
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace tessera::store::sqlite
