#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/data/text_encoder.h"
#include "tessera/store/ledger.h"
#include "tessera/store/store_folder.h"
#include "tessera/store/store_lock.h"

namespace tessera {

/// What memorize() does with a document whose id the store holds already.
enum class Duplicates { kRefuse, kReplace };

/// What became of a document. kUnchanged: the store held the same text under this id already.
enum class Memorized { kNew, kReplaced, kUnchanged };

/// A store to write to: one process at a time, one thread. Every document memorized or forgotten is
/// one transaction of the ledger: a process killed at any instant leaves the store before or after
/// it, and whoever opens it next brings the matrix up to date. A member that throws leaves the
/// store as it was before that document.
class MemoWriter {
 public:
  /// Throws std::runtime_error where another process writes; DataError, SystemError as MemoStore.
  explicit MemoWriter(const std::filesystem::path& folder);

  const StoreConfig& config() const { return folder_.config(); }
  const Ledger& ledger() const { return ledger_; }

  /// Of the document in work, how many of its tokens are in the memory.
  using OnTokens = std::function<void(int64_t done, int64_t tokens)>;

  /// Throws UsageError where memorize() would: on an id that is empty, no UTF-8, longer than 4096
  /// bytes or has control characters, and, under kRefuse, on one that is taken.
  void check_id(const std::string& id, Duplicates duplicates) const;

  /// Memorizes a text: UTF-8 without zero bytes, not empty; where the tokenizer has an end of text,
  /// it ends the document. Throws DataError, whose message begins with the id, on other texts and
  /// on one whose windows would not fit this machine's memory; UsageError on an id that is taken
  /// (under kRefuse) or cannot be printed.
  Memorized memorize(const std::string& id, std::string_view text, Duplicates duplicates,
                     const OnTokens& on_tokens = {});

  /// Forgets one document: the memory is bit for bit that of a store which never held it. Its text
  /// leaves the files with the next checkpoint(). Throws UsageError on an id that is not there.
  void forget(const std::string& id, const OnTokens& on_tokens = {});

  /// Writes the matrix, so that the next one to open the store need not redo the work, and erases
  /// what was forgotten. To be called at the end; memorize() and forget() do it, too, when the work
  /// since the last one is many times that of writing.
  void checkpoint();

  /// Makes the memory anew from the ledger's documents, whatever the matrix file holds.
  void rebuild(const OnTokens& on_tokens = {});

 private:
  using Clock = std::chrono::steady_clock;

  void load();
  TextMemory take();
  void put_back(TextMemory memory, Clock::time_point started);
  StoredDocument store(const std::string& id, std::string_view text);
  TokenPieces pieces(const StoredDocument& document, const OnTokens& on_tokens) const;

  StoreFolder folder_;
  StoreLock lock_;
  Ledger ledger_;
  TextEncoder encoder_;
  std::optional<TextMemory> memory_;  // at the ledger's last change; none: to be read
  std::optional<int64_t> written_;    // the change that the matrix file contains, where known
  double seconds_of_edits_ = 0;       // since the last checkpoint
  double seconds_of_writing_ = 0.1;
};

}  // namespace tessera
