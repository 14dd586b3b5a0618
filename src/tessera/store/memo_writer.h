#pragma once

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/data/text_encoder.h"
#include "tessera/store/ledger.h"
#include "tessera/store/store_folder.h"

namespace tessera::store {

class StoreLock;

/// What memorize() does with a document whose id the store holds already.
enum class Duplicates { kRefuse, kReplace };

/// What memorize() did. kUnchanged: the store already held the same text under this id.
enum class Memorized { kNew, kReplaced, kUnchanged };
constexpr std::array<std::string_view, 3> enum_names(Memorized) {
  return {"new", "replaced", "unchanged"};
}

/// A store opened for writing, by one process at a time, in one thread. Every document memorized or
/// forgotten is one transaction of the ledger: a process killed at any moment leaves the store
/// before it or after it, and the next to open the store brings the matrix up to date. If a member
/// throws, the store is as before that document.
class MemoWriter {
 public:
  /// Throws std::runtime_error if another process is writing; DataError and SystemError as
  /// MemoStore.
  explicit MemoWriter(const std::filesystem::path& folder);
  ~MemoWriter();

  const StoreConfig& config() const { return folder_.config(); }
  const Ledger& ledger() const { return ledger_; }
  /// Ids of documents that an earlier writer forgot without erasing their text from the files. It
  /// is erased when this writer opens the store, or, where that fails, at the next checkpoint().
  const std::vector<std::string>& left_unerased() const { return left_unerased_; }

  /// Progress on one document: how many of its tokens are done.
  using OnTokens = std::function<void(int64_t done, int64_t tokens)>;

  /// Throws UsageError as memorize() does: on an id that is empty, not UTF-8, longer than 4096
  /// bytes or has control characters, and, under kRefuse, on one that is in use.
  void check_id(const std::string& id, Duplicates duplicates) const;

  /// Memorizes a text: UTF-8 without zero bytes, not empty. If the tokenizer has an end of text,
  /// that token ends the document. metadata are added to those that a document of this id has
  /// already. Throws DataError, whose message begins with the id, on other texts and on a text
  /// whose windows would not fit in this machine's memory; UsageError as check_id().
  Memorized memorize(const std::string& id, std::string_view text, Duplicates duplicates,
                     const OnTokens& on_tokens = {}, const Metadata& metadata = {});

  /// Replaces what the store keeps about a document beside its text. Throws UsageError on an
  /// unknown id.
  void describe(const std::string& id, const DocumentDetails& details);

  /// Forgets one document: the memory then has the same bits as that of a store which never held
  /// it. The next checkpoint() removes its text from the files. Throws UsageError on an unknown id.
  void forget(const std::string& id, const OnTokens& on_tokens = {});

  /// Writes the matrices that changed, so that the next to open the store need not redo the work.
  /// memorize() and forget() call it whenever the time spent since the last one is many times that
  /// of writing.
  void write_matrix();

  /// write_matrix(), and erases what was forgotten; to be called at the end. Throws
  /// std::runtime_error if a reader still has the ledger's state before that, as Ledger::settle().
  void checkpoint();

  /// Rebuilds the memory and the full-text index from the ledger's documents, whatever the matrix
  /// file and the index hold.
  void rebuild(const OnTokens& on_tokens = {});

 private:
  using Clock = std::chrono::steady_clock;

  void finish_erasure();
  void index_documents();
  bool keep(const StoredDocument& known, std::string_view text, const Metadata& metadata);
  void load();
  memo::TextMemory take();
  bool is_written(int32_t shard, int64_t change) const;
  void put_back(memo::TextMemory memory, Clock::time_point started);
  memo::TokenPieces encoded(const std::string& id, std::string_view text);
  memo::TokenPieces stored(const StoredDocument& document, const OnTokens& on_tokens) const;

  StoreFolder folder_;
  std::unique_ptr<StoreLock> lock_;
  Ledger ledger_;
  TextEncoder encoder_;
  std::vector<std::string> left_unerased_;
  std::optional<memo::TextMemory> memory_;  // at the ledger's last change; if absent, to be read
  /// What a shard's file holds.
  struct Written {
    int64_t change = 0;  ///< that it names
    int64_t edits = 0;   ///< MemoryShard::edits() of what it holds
  };
  std::vector<Written> written_;  // of each shard; empty if unknown
  double seconds_of_edits_ = 0;   // since the matrices were written
  double seconds_of_writing_ = 0.1;
};

}  // namespace tessera::store
