#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/memo/window_code.h"
#include "tessera/store/sqlite.h"

namespace tessera {
class Checksum;
}

namespace tessera::store {

struct StoredDocument {
  int64_t number = 0;  ///< later documents have larger numbers
  std::string id;
  int64_t tokens = 0;
  int64_t pairs = 0;  ///< pairs that it wrote into the memory
  std::string checksum;
};

/// A store has no document of an id.
class UnknownDocument : public UsageError {
  using UsageError::UsageError;
};

/// Documents are forgotten, but their text stays in the store's files for now: another process
/// still reads the state before. The next command that writes after it has ended erases the text.
class ErasureDelayed : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What an erasure does where another process still reads the state before: it gives that ten
/// seconds to end, or none.
enum class Readers { kWait, kPass };

/// Free words about a document, by key.
using Metadata = std::map<std::string, std::string>;

/// What a store keeps about a document beside its tokens. A document of a ledger of format 1 or 2
/// has no digest and was memorized at time 0 until it is memorized again.
struct DocumentDetails {
  int64_t bytes = 0;      ///< of its text
  int64_t memorized = 0;  ///< seconds since 1970, UTC
  std::string digest;     ///< SHA-256 of its text
  Metadata metadata;

  bool operator==(const DocumentDetails&) const = default;
};

/// A document whose text is forgotten, and in the ledger until the next settle().
struct ForgottenDocument {
  int64_t bytes = 0, tokens = 0;
  std::string digest;        ///< SHA-256 of its text
  size_t history_bytes = 0;  ///< of the store's history when it was forgotten
};

/// Totals of all documents.
struct LedgerTotals {
  int64_t documents = 0, tokens = 0, pairs = 0;
};

/// An entry of the journal.
struct Change {
  int64_t number = 0;
  memo::Edit kind = memo::Edit::kStore;
  StoredDocument document;  ///< without its id
};

/// A passage of a document that has words of a question.
struct FoundPassage {
  std::string document;
  int64_t line = 1;    ///< of the first word found in the excerpt
  double score = 0;    ///< BM25 of the passage, Robertson et al. 1994; larger is better
  std::string text;    ///< an excerpt of about 24 words, as the document has it
  std::string marked;  ///< the same, the words found in [brackets], with … where it is cut
};

/// A part of a document's text that may have some words in a row.
struct Neighbourhood {
  int64_t document = 0;  ///< its number
  std::string text = {};
  uint64_t words = 0;  ///< a bit each: those that are among them there, in any form
};

/// The source of truth of a store: its documents, their tokens, and a journal of the changes that
/// the matrix file does not contain yet. The matrix is a pure function of the ledger.
///
/// Changes are numbered from 1 since the ledger was last settled. Each is one transaction, so that
/// a process killed at any moment leaves the state before it or after it. A power failure may undo
/// the last ones, those after the last sync(). The tokens of a forgotten document stay until
/// settle(), because they must be removed from an older matrix.
///
/// A settled ledger's file is a function of the documents, their details and their order alone: its
/// bytes do not tell what else was ever stored, nor how many commands it took.
///
/// Tables: store (one row: configuration, last change, whether forgotten text may still lie in the
/// file), documents, pieces (tokens in pieces of 65,536, as 16-bit numbers where the vocabulary
/// allows, else 32-bit, little-endian), changes, forgotten (whose text may still lie in the file;
/// numbers below 0 since settle()), details (also of note_forgotten(), with history_bytes as the
/// time) and metadata (DocumentDetails), passages and words (the full-text index),
/// settled (settled_digests()), and shards (noted_changes()).
/// A ledger of an earlier version is read as it is and upgraded by the first writer. Every member
/// throws as sqlite::Database does.
class Ledger {
 public:
  /// A ledger without documents. config: the store's configuration as text.
  static void create(const std::filesystem::path& path, const std::string& config);

  /// Throws DataError if the file is not a ledger, or has another format or configuration.
  Ledger(const std::filesystem::path& path, sqlite::Access access, const std::string& config,
         int64_t vocabulary);

  const std::string& path() const { return database_.path(); }
  /// The SQL of its tables, which stands in its file.
  std::string schema() const;

  /// Members ask this now and then while they read, at least once for a piece of a document; where
  /// it is true they throw Interrupted. {}: never.
  void interrupt_when(std::function<bool()> condition) {
    database_.interrupt_when(std::move(condition));
  }

  /// From now on this reader sees the state of this moment.
  void take_snapshot();

  int64_t last_change() const;
  /// A number below 2^53 that differs, but for chance, where the documents, their details, the
  /// changes or erasure_pending() differ.
  int64_t state() const;
  LedgerTotals totals() const;
  /// In the order in which they were stored.
  std::vector<StoredDocument> documents() const;
  std::optional<StoredDocument> find(const std::string& id) const;
  std::optional<StoredDocument> find_number(int64_t number) const;
  /// Throws UnknownDocument if there is none, with the nearest id as a suggestion.
  StoredDocument get(const std::string& id) const;
  /// The document's tokens. If they are not those that were stored, DataError is thrown, at the
  /// latest at the end. The ledger must outlive them.
  memo::TokenPieces pieces(const StoredDocument& document) const;
  /// [V]: how often each token of the vocabulary occurs in the documents. One pass over the text.
  std::vector<int64_t> token_counts() const;
  /// Size, time and metadata; empty for documents that an earlier version stored.
  DocumentDetails details(const StoredDocument& document) const;
  /// Whether search() finds all documents: an earlier version did not index them. A MemoWriter does
  /// when it opens the store.
  bool searchable() const;
  /// At most `limit` passages (0: all) that have at least one of the words of `question`, best
  /// first, of the documents that are indexed.
  std::vector<FoundPassage> search(std::string_view question, int64_t limit) const;
  /// Visits where at least `least` of these words stand in two passages in a row, in any form:
  /// these passages and one on either side. No other place has so many in so little text. Those
  /// with most words come first, then the order is that of the documents, as far as they are
  /// indexed; visit(place) says how many words the further ones must have.
  void visit_neighbourhoods(const std::vector<std::string>& words, size_t least,
                            const std::function<size_t(Neighbourhood&&)>& visit) const;
  /// Whether text of forgotten documents may still lie in the file, because a forget() was not
  /// followed by a settle() that succeeded.
  bool erasure_pending() const;
  /// The ids of these documents, as far as they are known: first those forgotten before the last
  /// settle(), and of each time in the order in which they were stored.
  std::vector<std::string> unerased() const;
  /// Those of note_forgotten() since the last settle(), in the order of their forgetting.
  std::vector<ForgottenDocument> forgotten() const;
  /// In order. Throws DataError if one is missing.
  std::vector<Change> changes_after(int64_t number) const;
  /// The last change that is not in the journal any more.
  int64_t settled_change() const;
  /// content_digest() of each shard's matrix at the last settle(): a file with this digest contains
  /// all that is settled. Empty in a ledger of an earlier version.
  std::vector<std::string> settled_digests() const;
  /// The same in a ledger of format 4: the change that each shard's file named then.
  std::vector<int64_t> noted_changes() const;
  /// Bytes of SQLite's log beside the file. A command that was killed may have left text there that
  /// no document has, and a reader what was moved into the file since.
  int64_t log_bytes() const;

  /// The passages that the full-text index holds of this document, one after the other: its text.
  std::string indexed_text(const StoredDocument& document) const;
  /// Throws DataError if that is not the text that was memorized.
  void check_index(const StoredDocument& document) const;
  /// Throws DataError that names the damage, if the file's structure is damaged.
  void check_integrity() const;

  // For the one writer only:

  /// Whether another process, or another reader in this one, has a state of the ledger open: what
  /// would be forgotten now, tidy() could not erase before it ends.
  bool is_read() const { return database_.is_read(); }
  /// Its commit() does not wait for the disk; sync() and settle() do.
  sqlite::Transaction transaction();
  /// Keeps a power failure from undoing what was committed.
  void sync() { database_.sync_log(); }
  /// Adds a document under an unused id; its pairs are set afterwards by set_pairs().
  StoredDocument store(const std::string& id, const memo::TokenPieces& tokens);
  /// Records document.pairs.
  void set_pairs(const StoredDocument& document);
  void set_details(const StoredDocument& document, const DocumentDetails& details);
  /// Indexes the text of a document that is not indexed.
  void index(const StoredDocument& document, std::string_view text);
  /// Those that search() does not find.
  std::vector<StoredDocument> unindexed() const;
  /// Indexes all documents again, whatever state the index is in, within a transaction of the
  /// caller: with the text that it held, where that alone is the one that was memorized, else with
  /// that of the document's tokens, which text_of gives.
  void rebuild_index(const std::function<std::string(const StoredDocument&)>& text_of);
  void forget(const StoredDocument& document);
  /// After forget(), in the same transaction: keeps until settle() what the store's history will
  /// say of it. details: those that the document had. history_bytes: as ForgottenDocument has it.
  void note_forgotten(const StoredDocument& document, const DocumentDetails& details,
                      int64_t history_bytes);
  /// Whether settle() and tidy() would change nothing.
  bool is_settled() const;
  /// Empties the journal, numbers the documents from 1 on, and notes the digests of the matrices
  /// that contain all changes; files with these matrices must be there. The file is read, copied
  /// and written as a whole; SQLite puts the copy, but for its first 16 MiB, beside its temporary
  /// files. Others may read meanwhile.
  void settle(std::span<const std::string> digests);
  /// After settle(): removes all remains of forgotten documents from the files. Throws
  /// ErasureDelayed if another process still reads such remains; the next call removes them.
  void tidy(Readers readers);

 private:
  /// condition: in SQL, of the table 'documents'; "": all.
  void visit_documents(const char* condition,
                       const std::function<void(StoredDocument&&)>& visit) const;
  bool only_index_holds_text(const StoredDocument& document, std::string_view of_tokens) const;
  void add_details(Checksum& sum) const;
  void delete_details(const StoredDocument& document);
  void delete_passages(const StoredDocument& document);
  int64_t next_change();
  int64_t next_number() const;
  void empty_log(Readers readers);

  sqlite::Database database_;
  int64_t format_;  // of the tables
  std::optional<sqlite::Transaction> snapshot_;
  mutable std::optional<bool> searchable_;  // in the snapshot
  mutable std::optional<int64_t> state_;    // likewise
  int64_t vocabulary_;
  std::optional<sqlite::Database> copy_;  // from settle() to tidy()
  int64_t changes_when_tidy_ = 0;         // of the database's rows; -1: tidy() had not ended
};

}  // namespace tessera::store
