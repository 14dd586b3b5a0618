#include "tessera/store/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/suggestion.h"
#include "tessera/data/utf8.h"
#include "tessera/store/detail/ledger_tables.h"
#include "tessera/store/detail/passage_index.h"
#include "tessera/store/detail/token_pieces.h"
#include "tessera/store/digest.h"
#include "tessera/store/sqlite.h"

namespace tessera::store {
namespace {

using sqlite::Access;
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

ChangeKind kind_of(const std::string& name, const std::string& path) {
  if (name == "store") return ChangeKind::kStore;
  if (name == "forget") return ChangeKind::kForget;
  throw DataError(path, "the journal has a change of the kind '{}'", name);
}

}  // namespace

void Ledger::create(const std::filesystem::path& path, const std::string& config, int32_t shards) {
  create_ledger_tables(path, config, shards == 1 ? kLedgerFormat : kLedgerFormatOfShards);
}

Ledger::Ledger(const std::filesystem::path& path, Access access, const std::string& config,
               int64_t vocabulary)
    : database_(std::make_unique<sqlite::Database>(checked_ledger_path(path), access)),
      format_(check_ledger_tables(*database_, config)),
      vocabulary_(vocabulary) {
  if (access == Access::kRead) return;
  // Deleted rows are overwritten, so that a name does not outlive its row (erase_forgotten()).
  database_->execute("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
  if (format_ >= kLedgerFormat) return;
  upgrade_ledger_tables(*database_, format_);
  format_ = kLedgerFormat;
}

Ledger::~Ledger() = default;

const std::string& Ledger::path() const {
  return database_->path();
}

void Ledger::interrupt_when(std::function<bool()> condition) {
  database_->interrupt_when(std::move(condition));
}

void Ledger::take_snapshot() {
  snapshot_.reset();
  snapshot_ = std::make_unique<sqlite::Transaction>(*database_, Access::kRead);
  last_change();  // a snapshot is taken at the first read
}

int64_t Ledger::last_change() const {
  Statement row(*database_, "SELECT last_change FROM store");
  if (!row.step()) throw DataError(database_->path(), "its table 'store' is empty");
  const int64_t change = row.integer(0);
  if (change < 0 || change > kMost)
    throw DataError(database_->path(), "its last change has the number {}", change);
  return change;
}

LedgerTotals Ledger::totals() const {
  LedgerTotals totals;
  visit_documents([&](const StoredDocument& document) {
    ++totals.documents;
    totals.tokens += document.tokens;
    totals.pairs += document.pairs;
  });
  return totals;
}

std::vector<StoredDocument> Ledger::documents() const {
  std::vector<StoredDocument> documents;
  visit_documents([&](StoredDocument&& document) { documents.push_back(std::move(document)); });
  return documents;
}

void Ledger::visit_documents(const std::function<void(StoredDocument&&)>& visit) const {
  Statement rows(*database_, fmt::format("{} ORDER BY number", kDocumentColumns));
  for (int64_t last = 0; rows.step();) {
    StoredDocument document = document_of(rows, database_->path());
    if (document.number <= last)  // damaged pages that refer to each other could go on for ever
      throw DataError(database_->path(), "document {} follows document {}", document.number, last);
    last = document.number;
    visit(std::move(document));
  }
}

std::optional<StoredDocument> Ledger::find(const std::string& id) const {
  Statement row(*database_, fmt::format("{} WHERE id = ?1", kDocumentColumns), id);
  if (!row.step()) return {};
  return document_of(row, database_->path());
}

StoredDocument Ledger::get(const std::string& id) const {
  if (auto document = find(id)) return *std::move(document);
  std::vector<std::string> known;
  for (const auto& document : documents()) known.push_back(document.id);
  throw UnknownDocument("there is no document '{}'{}", utf8::printable_line(id),
                        suggestion(id, known));
}

memo::TokenPieces Ledger::pieces(const StoredDocument& document) const {
  return PieceReader::pieces(*database_, document, vocabulary_);
}

std::vector<int64_t> Ledger::token_counts() const {
  std::vector<int64_t> counts(static_cast<size_t>(vocabulary_));
  for (const StoredDocument& document : documents()) {
    const memo::TokenPieces next = pieces(document);
    for (auto piece = next(); !piece.empty(); piece = next())
      for (const int32_t token : piece) ++counts[static_cast<size_t>(token)];
  }
  return counts;
}

DocumentDetails Ledger::details(const StoredDocument& document) const {
  return format_ < 3 ? DocumentDetails() : details_of(*database_, document.number);
}

bool Ledger::searchable() const {
  return format_ < 3 ? totals().documents == 0 : documents_without_passages(*database_).empty();
}

std::vector<FoundPassage> Ledger::search(std::string_view question, int64_t limit) const {
  if (format_ < 3) return {};
  return find_passages(*database_, question, limit);
}

bool Ledger::erasure_pending() const {
  Statement row(*database_, "SELECT erase FROM store");
  return row.step() && row.integer(0) != 0;
}

std::vector<std::string> Ledger::unerased() const {
  std::vector<std::string> ids;
  if (format_ < 2) return ids;
  Statement rows(*database_, "SELECT id FROM forgotten ORDER BY number");
  while (rows.step()) ids.push_back(utf8::printable(rows.text(0)));
  return ids;
}

std::vector<Change> Ledger::changes_after(int64_t number) const {
  std::vector<Change> changes;
  Statement rows(*database_,
                 "SELECT number, kind, document, tokens, checksum FROM changes WHERE number > ?1 "
                 "ORDER BY number",
                 number);
  const auto lacks = [&] {
    return DataError(database_->path(), "the journal lacks change {}",
                     number + static_cast<int64_t>(changes.size()) + 1);
  };
  while (rows.step()) {
    if (rows.integer(0) != number + static_cast<int64_t>(changes.size()) + 1) throw lacks();
    changes.push_back({rows.integer(0),
                       kind_of(rows.text(1), database_->path()),
                       {rows.integer(2), "", rows.integer(3), 0, rows.text(4)}});
  }
  if (number + static_cast<int64_t>(changes.size()) < last_change()) throw lacks();
  return changes;
}

int64_t Ledger::settled_change() const {
  Statement row(*database_, "SELECT number - 1 FROM changes ORDER BY number LIMIT 1");
  return row.step() ? row.integer(0) : last_change();
}

std::vector<int64_t> Ledger::noted_changes() const {
  std::vector<int64_t> changes;
  if (format_ < kLedgerFormatOfShards) return changes;
  Statement rows(*database_, "SELECT change FROM shards ORDER BY shard");
  while (rows.step()) changes.push_back(rows.integer(0));
  return changes;
}

void Ledger::check_index(const StoredDocument& document) const {
  const std::string digest = details(document).digest;
  if (digest.empty() || text_digest(indexed_text(*database_, document.number)) == digest) return;
  throw DataError(database_->path(),
                  "the full-text index does not hold the text of '{}'; 'tessera memo verify "
                  "--repair' indexes the documents again",
                  document.id);
}

void Ledger::check_integrity() const {
  Statement findings(*database_, "PRAGMA integrity_check(1)");
  if (findings.step() && findings.text(0) != "ok")
    throw DataError(database_->path(), "is damaged: {}", findings.text(0));
}

sqlite::Transaction Ledger::transaction() {
  return {*database_, Access::kWrite};
}

int64_t Ledger::next_change() {
  Statement(*database_, "UPDATE store SET last_change = last_change + 1").run();
  return last_change();
}

StoredDocument Ledger::store(const std::string& id, const memo::TokenPieces& tokens) {
  StoredDocument document{next_change(), id, 0, 0, ""};
  PieceWriter writer(*database_, document.number, vocabulary_);
  for (auto piece = tokens(); !piece.empty(); piece = tokens()) writer.append(piece);
  writer.finish();
  document.tokens = writer.tokens();
  document.checksum = writer.checksum();
  Statement(*database_, "INSERT INTO documents VALUES (?1, ?2, ?3, 0, ?4)", document.number, id,
            document.tokens, document.checksum)
      .run();
  Statement(*database_, "INSERT INTO changes VALUES (?1, 'store', ?1, ?2, ?3)", document.number,
            document.tokens, document.checksum)
      .run();
  return document;
}

void Ledger::set_pairs(const StoredDocument& document) {
  Statement(*database_, "UPDATE documents SET pairs = ?2 WHERE number = ?1", document.number,
            document.pairs)
      .run();
}

void Ledger::set_details(const StoredDocument& document, const DocumentDetails& details) {
  write_details(*database_, document.number, details);
}

void Ledger::index(const StoredDocument& document, std::string_view text) {
  index_passages(*database_, document.number, text);
}

std::vector<StoredDocument> Ledger::unindexed() const {
  const std::vector<int64_t> numbers = documents_without_passages(*database_);
  std::vector<StoredDocument> found = documents();
  std::erase_if(found, [&](const StoredDocument& document) {
    return !std::ranges::binary_search(numbers, document.number);
  });
  return found;
}

void Ledger::empty_index() {
  empty_passage_index(*database_);
}

void Ledger::forget(const StoredDocument& document) {
  Statement(*database_, "INSERT INTO changes VALUES (?1, 'forget', ?2, ?3, ?4)", next_change(),
            document.number, document.tokens, document.checksum)
      .run();
  Statement(*database_, "DELETE FROM documents WHERE number = ?1", document.number).run();
  delete_details(*database_, document.number);
  delete_passages(*database_, document.number);
  Statement(*database_, "INSERT INTO forgotten VALUES (?1, ?2)", document.number, document.id)
      .run();
  database_->execute("UPDATE store SET erase = 1");
}

void Ledger::settle(int64_t change, std::span<const int64_t> shards) {
  sqlite::Transaction settling = transaction();
  if (format_ == kLedgerFormatOfShards)
    for (size_t s = 0; s < shards.size(); ++s)
      Statement(*database_, "INSERT OR REPLACE INTO shards VALUES (?1, ?2)",
                static_cast<int64_t>(s), shards[s])
          .run();
  Statement(*database_,
            "DELETE FROM pieces WHERE document IN (SELECT document FROM changes WHERE kind = "
            "'forget' AND number <= ?1)",
            change)
      .run();
  Statement(*database_, "DELETE FROM changes WHERE number <= ?1", change).run();
  settling.commit();
  if (erasure_pending()) erase_forgotten();
}

void Ledger::erase_forgotten() {
  // VACUUM copies what the pages refer to, so the pages must be intact.
  check_integrity();
  // Deleted rows leave traces in free pages and in gaps of other pages. VACUUM rewrites all pages,
  // which costs far less than the matrix that was just written.
  merge_passages(*database_);
  database_->execute("VACUUM");
  empty_log();
  // The names go last: as long as the text may be there, they say whose it is.
  database_->execute("DELETE FROM forgotten");
  empty_log();
  database_->execute("UPDATE store SET erase = 0");
}

/// Moves the last changes from the log into the file.
void Ledger::empty_log() {
  Statement log(*database_, "PRAGMA wal_checkpoint(TRUNCATE)");
  const bool kept = log.step() && log.integer(0) != 0;
  log.run();
  if (kept)
    throw std::runtime_error(database_->path() +
                             ": the document is forgotten, but another process still reads the "
                             "state before, so its text stays in the file for now; the next "
                             "command that writes after that process has ended erases it");
}

}  // namespace tessera::store
