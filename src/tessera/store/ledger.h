#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/store/sqlite.h"

namespace tessera {

/// The tokens of one document, piece by piece; an empty piece ends it.
using TokenPieces = std::function<std::span<const int32_t>()>;
/// Hands all tokens of a document over to `take`, cut anyhow.
using TakeTokens = std::function<void(std::span<const int32_t>)>;
using TokenSource = std::function<void(const TakeTokens& take)>;

struct StoredDocument {
  int64_t number = 0;  ///< of the change that stored it: later documents have larger numbers
  std::string id;
  int64_t tokens = 0;
  int64_t pairs = 0;  ///< that it wrote into the memory
  std::string checksum;
};

/// Of all documents.
struct LedgerTotals {
  int64_t documents = 0, tokens = 0, pairs = 0;
};

enum class ChangeKind { kStore, kForget };

/// A line of the journal.
struct Change {
  int64_t number = 0;
  ChangeKind kind = ChangeKind::kStore;
  StoredDocument document;  ///< without its id
};

/// The truth of a store: which documents it holds, their tokens, and a journal of the changes that
/// its matrix file does not contain yet. The matrix is a pure function of it.
///
/// Changes are numbered from 1. Each is one transaction, so that a process killed at any instant
/// leaves the state before or after it. The tokens of a forgotten document stay until settle(),
/// because whoever has the older matrix must take them away from it.
///
/// Tables: store (one row: configuration, last change, whether forgotten text may still lie in the
/// file), documents, pieces (tokens in pieces of 65,536, as 16-bit numbers where the vocabulary
/// allows, else 32-bit, little-endian), changes. Every member throws as sqlite::Database does.
class Ledger {
 public:
  /// A ledger without documents. config: the store's configuration as text.
  static void create(const std::filesystem::path& path, const std::string& config);

  /// Throws DataError where the file is no ledger or one of another format or configuration.
  Ledger(const std::filesystem::path& path, sqlite::Access access, const std::string& config,
         int64_t vocabulary);

  const std::string& path() const { return database_.path(); }

  /// From here on a reader sees the state of this moment.
  void take_snapshot();

  int64_t last_change() const;
  LedgerTotals totals() const;
  /// In the order of their storing.
  std::vector<StoredDocument> documents() const;
  std::optional<StoredDocument> find(const std::string& id) const;
  /// Throws UsageError that suggests the nearest id where there is none of this name.
  StoredDocument get(const std::string& id) const;
  /// Throws DataError, at the latest with the last piece, where the tokens are not those that were
  /// stored.
  TokenPieces pieces(const StoredDocument& document) const;
  /// How often each token of the vocabulary stands in the documents. [V], one pass over the text.
  std::vector<int64_t> token_counts() const;
  /// In their order. Throws DataError where one is missing.
  std::vector<Change> changes_after(int64_t number) const;

  /// Throws DataError that says what is wrong with the file's structure.
  void check_integrity() const;

  // What follows is for the one writer.

  sqlite::Transaction transaction();
  /// Adds a document whose id is not there yet; how many pairs it wrote is said afterwards.
  StoredDocument store(const std::string& id, const TokenSource& tokens);
  /// Writes document.pairs down.
  void set_pairs(const StoredDocument& document);
  void forget(const StoredDocument& document);
  /// The matrix file contains the changes up to this number: drops them from the journal, and all
  /// that is left of forgotten documents from the files. Throws std::runtime_error where a reader
  /// keeps such remains in use; the next settle() removes them.
  void settle(int64_t change);

 private:
  void visit_documents(const std::function<void(StoredDocument&&)>& visit) const;
  int64_t next_change();
  void erase_forgotten();

  sqlite::Database database_;
  std::optional<sqlite::Transaction> snapshot_;
  int64_t vocabulary_;
};

}  // namespace tessera
