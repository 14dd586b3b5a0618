#include "tessera/store/ledger.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "tessera/base/checksum.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/suggestion.h"
#include "tessera/base/utf8.h"
#include "tessera/store/detail/ledger_tables.h"
#include "tessera/store/detail/token_pieces.h"

namespace tessera::store {
namespace {

using sqlite::Access;
using sqlite::Ascending;
using sqlite::Statement;

constexpr const char* kDocumentColumns =
    "SELECT number, id, tokens, pairs, checksum FROM documents";

constexpr int64_t kMost = int64_t{1} << 40;  // changes, or tokens or pairs of one document

StoredDocument document_of(const Statement& row, const std::string& path) {
  StoredDocument document{row.integer(0), row.text(1), row.integer(2), row.integer(3), row.text(4)};
  if (!utf8::is_printable(document.id))
    throw DataError(path, "document {}: its id is not UTF-8 or has control characters",
                    document.number);
  for (const int64_t count : {document.tokens, document.pairs})
    if (count < 0 || count > kMost)
      throw DataError(path, "document {}: it has {} tokens and {} pairs", document.number,
                      document.tokens, document.pairs);
  return document;
}

memo::Edit kind_of(const std::string& name, const std::string& path) {
  if (name == "store") return memo::Edit::kStore;
  if (name == "forget") return memo::Edit::kForget;
  throw DataError(path, "the journal has a change of the kind '{}'", name);
}

}  // namespace

Ledger::Ledger(const std::filesystem::path& path, Access access, const std::string& config,
               int64_t vocabulary)
    : database_(checked_ledger_path(path), access),
      format_(check_ledger_tables(database_, config)),
      vocabulary_(vocabulary) {
  if (access == Access::kRead) return;
  // Deleted rows are overwritten, so that a name does not outlive its row.
  database_.execute("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
  if (log_bytes() > 0 || !database_.has_empty_counts()) changes_when_tidy_ = -1;
  database_.empty_log({});  // of what a killed process left there
  if (format_ == kLedgerFormat) return;
  upgrade_ledger_tables(database_, format_);
  format_ = kLedgerFormat;
}

std::string Ledger::schema() const {
  return ledger_schema(database_);
}

void Ledger::take_snapshot() {
  snapshot_.reset();
  searchable_.reset();
  state_.reset();
  snapshot_.emplace(database_, Access::kRead);
  format_ = ledger_format(database_);  // a snapshot is taken at the first read
}

int64_t Ledger::last_change() const {
  Statement row(database_, "SELECT last_change FROM store");
  if (!row.step()) throw DataError(path(), "its table 'store' is empty");
  const int64_t change = row.integer(0);
  if (change < 0 || change > kMost)
    throw DataError(path(), "its last change has the number {}", change);
  return change;
}

int64_t Ledger::state() const {
  if (state_) return *state_;
  Checksum sum;
  sum.add(fmt::format("{} {}\n", last_change(), erasure_pending()));
  visit_documents("", [&](const StoredDocument& document) {
    sum.add(fmt::format("{} {} {}\n", document.number, document.checksum, document.id));
  });
  if (format_ >= 3) add_details(sum);
  const auto state = static_cast<int64_t>(std::stoull(sum.hex(), nullptr, 16) >> 11);
  if (snapshot_) state_ = state;
  return state;
}

void Ledger::add_details(Checksum& sum) const {
  Statement rows(database_, "SELECT document, memorized, digest FROM details ORDER BY document");
  Ascending numbers(database_, "details of document");
  while (rows.step())
    sum.add(
        fmt::format("{} {} {}\n", numbers.next(rows.integer(0)), rows.integer(1), rows.text(2)));
  Statement metadata(database_, "SELECT document, key, value FROM metadata ORDER BY document, key");
  // Damaged pages that refer to each other could go on for ever.
  std::pair<int64_t, std::string> last(INT64_MIN, "");
  while (metadata.step()) {
    std::pair here(metadata.integer(0), metadata.text(1));
    if (here <= last)
      throw DataError(path(), "document {} has one key of its metadata twice", here.first);
    const std::string value = metadata.text(2);
    sum.add(fmt::format("{} {} {} {}{}\n", here.first, here.second.size(), value.size(),
                        here.second, value));
    last = std::move(here);
  }
}

LedgerTotals Ledger::totals() const {
  LedgerTotals totals;
  visit_documents("", [&](const StoredDocument& document) {
    ++totals.documents;
    totals.tokens += document.tokens;
    totals.pairs += document.pairs;
  });
  return totals;
}

std::vector<StoredDocument> Ledger::documents() const {
  std::vector<StoredDocument> documents;
  visit_documents("", [&](StoredDocument&& document) { documents.push_back(std::move(document)); });
  return documents;
}

void Ledger::visit_documents(const char* condition,
                             const std::function<void(StoredDocument&&)>& visit) const {
  Statement rows(database_, fmt::format("{} {} ORDER BY number", kDocumentColumns, condition));
  Ascending numbers(database_, "document", 0);
  while (rows.step()) {
    StoredDocument document = document_of(rows, path());
    numbers.next(document.number);
    visit(std::move(document));
  }
}

std::optional<StoredDocument> Ledger::find(const std::string& id) const {
  Statement row(database_, fmt::format("{} WHERE id = ?1", kDocumentColumns), id);
  if (!row.step()) return {};
  return document_of(row, path());
}

std::optional<StoredDocument> Ledger::find_number(int64_t number) const {
  Statement row(database_, fmt::format("{} WHERE number = ?1", kDocumentColumns), number);
  if (!row.step()) return {};
  return document_of(row, path());
}

StoredDocument Ledger::get(const std::string& id) const {
  if (auto document = find(id)) return *std::move(document);
  std::vector<std::string> known;
  for (const auto& document : documents()) known.push_back(document.id);
  throw UnknownDocument("there is no document '{}'{}", utf8::printable_line(id),
                        suggestion(id, known));
}

std::vector<int64_t> Ledger::token_counts() const {
  std::vector<int64_t> counts(static_cast<size_t>(vocabulary_));
  visit_documents("", [&](const StoredDocument& document) {
    const memo::TokenPieces next = pieces(document);
    for (auto piece = next(); !piece.empty(); piece = next())
      for (const int32_t token : piece) ++counts[static_cast<size_t>(token)];
  });
  return counts;
}

DocumentDetails Ledger::details(const StoredDocument& document) const {
  DocumentDetails details;
  if (format_ < 3) return details;
  Statement row(database_, "SELECT bytes, memorized, digest FROM details WHERE document = ?1",
                document.number);
  if (row.step()) {
    details.bytes = row.integer(0);
    details.memorized = row.integer(1);
    details.digest = utf8::printable(row.text(2));
  }
  Statement metadata(database_, "SELECT key, value FROM metadata WHERE document = ?1",
                     document.number);
  while (metadata.step())
    if (!details.metadata.emplace(metadata.text(0), metadata.text(1)).second)
      throw DataError(path(), "document {} has one key of its metadata twice", document.number);
  return details;
}

bool Ledger::erasure_pending() const {
  Statement row(database_, "SELECT erase FROM store");
  return row.step() && row.integer(0) != 0;
}

std::vector<std::string> Ledger::unerased() const {
  std::vector<std::string> ids;
  if (format_ < 2) return ids;
  Statement rows(database_, "SELECT number, id FROM forgotten ORDER BY number");
  Ascending numbers(database_, "forgotten document");
  while (rows.step()) {
    numbers.next(rows.integer(0));
    ids.push_back(utf8::printable(rows.text(1)));
  }
  return ids;
}

std::vector<ForgottenDocument> Ledger::forgotten() const {
  std::vector<ForgottenDocument> documents;
  if (format_ < 3) return documents;
  Statement rows(database_,
                 "SELECT number, bytes, tokens, digest, memorized FROM changes JOIN details "
                 "USING (document) WHERE kind = 'forget' ORDER BY number");
  Ascending numbers(database_, "change", 0);
  while (rows.step()) {
    numbers.next(rows.integer(0));
    documents.push_back({rows.integer(1), rows.integer(2), utf8::printable(rows.text(3)),
                         static_cast<size_t>(rows.integer(4))});
  }
  return documents;
}

std::vector<Change> Ledger::changes_after(int64_t number) const {
  std::vector<Change> changes;
  Statement rows(database_,
                 "SELECT number, kind, document, tokens, checksum FROM changes WHERE number > ?1 "
                 "ORDER BY number",
                 number);
  int64_t next = number + 1;
  const auto lacks = [&] { return DataError(path(), "the journal lacks change {}", next); };
  while (rows.step()) {
    if (rows.integer(0) != next) throw lacks();
    changes.push_back({next++,
                       kind_of(rows.text(1), path()),
                       {rows.integer(2), "", rows.integer(3), 0, rows.text(4)}});
  }
  if (next <= last_change()) throw lacks();
  return changes;
}

int64_t Ledger::settled_change() const {
  if (!settled_digests().empty()) return 0;
  Statement row(database_, "SELECT number - 1 FROM changes ORDER BY number LIMIT 1");
  return row.step() ? row.integer(0) : last_change();
}

std::vector<std::string> Ledger::settled_digests() const {
  std::vector<std::string> digests;
  if (format_ < 5) return digests;
  Statement rows(database_, "SELECT shard, digest FROM settled ORDER BY shard");
  while (rows.step()) {
    if (rows.integer(0) != std::ssize(digests))  // so that damaged pages cannot go on for ever
      throw DataError(path(), "matrix {} is settled after {} others", rows.integer(0),
                      digests.size());
    digests.push_back(rows.text(1));
  }
  return digests;
}

int64_t Ledger::log_bytes() const {
  return file_bytes(path() + "-wal");
}

std::vector<int64_t> Ledger::noted_changes() const {
  std::vector<int64_t> changes;
  if (format_ < 4) return changes;
  Statement rows(database_, "SELECT shard, change FROM shards ORDER BY shard");
  Ascending shards(database_, "matrix");
  while (rows.step()) {
    shards.next(rows.integer(0));
    changes.push_back(rows.integer(1));
  }
  return changes;
}

void Ledger::check_integrity() const {
  Statement findings(database_, "PRAGMA integrity_check(1)");
  if (findings.step() && findings.text(0) != "ok")
    throw DataError(path(), "is damaged: {}", findings.text(0));
}

sqlite::Transaction Ledger::transaction() {
  database_.execute("PRAGMA synchronous = NORMAL");
  return {database_, Access::kWrite};
}

int64_t Ledger::next_change() {
  Statement(database_, "UPDATE store SET last_change = last_change + 1").run();
  return last_change();
}

/// Above those of all documents, also of those forgotten since the last settle(). The last one that
/// was stored since then has the largest; a look at all changes for each would take ever longer.
int64_t Ledger::next_number() const {
  Statement row(
      database_,
      "SELECT coalesce((SELECT document FROM changes WHERE kind = 'store' ORDER BY number "
      "DESC LIMIT 1), (SELECT max(number) FROM (SELECT number FROM documents UNION ALL "
      "SELECT document FROM changes)), 0) + 1");
  row.step();
  return row.integer(0);
}

StoredDocument Ledger::store(const std::string& id, const memo::TokenPieces& tokens) {
  const int64_t change = next_change();
  StoredDocument document{next_number(), id, 0, 0, ""};
  write_pieces(database_, tokens, vocabulary_, document);
  Statement(database_, "INSERT INTO documents VALUES (?1, ?2, ?3, 0, ?4)", document.number, id,
            document.tokens, document.checksum)
      .run();
  Statement(database_, "INSERT INTO changes VALUES (?1, 'store', ?2, ?3, ?4)", change,
            document.number, document.tokens, document.checksum)
      .run();
  return document;
}

void Ledger::set_pairs(const StoredDocument& document) {
  Statement(database_, "UPDATE documents SET pairs = ?2 WHERE number = ?1", document.number,
            document.pairs)
      .run();
}

void Ledger::set_details(const StoredDocument& document, const DocumentDetails& details) {
  delete_details(document);
  Statement(database_, "INSERT INTO details VALUES (?1, ?2, ?3, ?4)", document.number,
            details.bytes, details.memorized, details.digest)
      .run();
  for (const auto& [key, value] : details.metadata)
    Statement(database_, "INSERT INTO metadata VALUES (?1, ?2, ?3)", document.number, key, value)
        .run();
}

void Ledger::delete_details(const StoredDocument& document) {
  for (const char* table : {"details", "metadata"})
    Statement(database_, fmt::format("DELETE FROM {} WHERE document = ?1", table), document.number)
        .run();
}

void Ledger::forget(const StoredDocument& document) {
  Statement(database_, "INSERT INTO changes VALUES (?1, 'forget', ?2, ?3, ?4)", next_change(),
            document.number, document.tokens, document.checksum)
      .run();
  Statement(database_, "DELETE FROM documents WHERE number = ?1", document.number).run();
  delete_details(document);
  delete_passages(document);
  Statement(database_, "INSERT INTO forgotten VALUES (?1, ?2)", document.number, document.id).run();
  database_.execute("UPDATE store SET erase = 1");
}

void Ledger::note_forgotten(const StoredDocument& document, const DocumentDetails& details,
                            int64_t history_bytes) {
  // No document has its number before settle(), which copies the details of documents alone.
  set_details(document, {details.bytes, history_bytes, details.digest, {}});
}

bool Ledger::is_settled() const {
  return last_change() == 0 && !settled_digests().empty() && !erasure_pending() &&
         database_.changes() == changes_when_tidy_;
}

void Ledger::settle(std::span<const std::string> digests) {
  check_integrity();                               // a copy takes what the pages refer to
  database_.execute("PRAGMA synchronous = FULL");  // files are put in place when it is committed
  copy_.emplace(settled_copy(path(), digests));
  const bool erases = erasure_pending();
  if (!erases) copy_->execute("VACUUM");
  database_.replace_by(*copy_);
  if (erases) copy_->execute("DELETE FROM forgotten; VACUUM");
}

void Ledger::tidy(Readers readers) {
  if (erasure_pending()) {
    empty_log(readers);
    // The names go last: as long as the text may be there, they say whose it is.
    database_.replace_by(*copy_);
    empty_log(readers);
    database_.execute("UPDATE store SET erase = 0");
  }
  copy_.reset();
  if (database_.empty_log_and_counts()) changes_when_tidy_ = database_.changes();
}

/// Where a reader would be left with what was forgotten, says so.
void Ledger::empty_log(Readers readers) {
  constexpr std::chrono::seconds kPatience{10};
  if (!database_.empty_log(readers == Readers::kWait ? kPatience : std::chrono::seconds(0)))
    throw ErasureDelayed(path() +
                         ": the text of what was forgotten stays in the file for now, because "
                         "another process still reads the state before; the next command that "
                         "writes after that process has ended erases it");
}

}  // namespace tessera::store
