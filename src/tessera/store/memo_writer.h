#pragma once

#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/data/text_encoder.h"
#include "tessera/store/ledger.h"
#include "tessera/store/store_folder.h"

namespace tessera::store {

/// What memorize() does with a document whose id the store holds already.
enum class Duplicates { kRefuse, kReplace };

/// Whether a store keeps when a document was memorized.
enum class Times { kKept, kNone };

/// What memorize() did. kUnchanged: the store already held the same text under this id. kDescribed:
/// that, and it has other metadata now.
enum class Memorized { kNew, kReplaced, kUnchanged, kDescribed };
constexpr std::array<std::string_view, 4> enum_names(Memorized) {
  return {"new", "replaced", "unchanged", "described"};
}

/// A text that cannot be memorized, whatever the store holds.
class TextError : public DataError {
 public:
  using DataError::DataError;
  /// What was found wrong while only the text was looked at.
  explicit TextError(const DataError& error) : DataError(error) {}
};

/// A store opened for writing, by one process at a time, in one thread. Every document memorized or
/// forgotten is one transaction of the ledger: a process killed at any moment leaves the store
/// before it or after it, and the next to open the store brings the matrix up to date. A power
/// failure before settle() has ended may also undo the transactions since the last sync, which
/// comes with the first that ends a second after the one before. If a member throws, the store is
/// as before that document, unless the disk failed after its transaction. The first edit reads the
/// matrices, which then stay in memory.
class MemoWriter {
 public:
  /// Erases what an earlier writer forgot without erasing its text from the files; where that
  /// fails, or another process reads it now, the next checkpoint() does. A ledger of an earlier
  /// version is brought up to date, which takes a pass over its texts where it has no full-text
  /// index. Throws std::runtime_error if another process is writing; DataError and SystemError as
  /// MemoStore.
  explicit MemoWriter(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return folder_.path(); }
  const StoreConfig& config() const { return folder_.config(); }
  const Tokenizer& tokenizer() const { return folder_.tokenizer(); }
  const Ledger& ledger() const { return ledger_; }

  /// Throws UsageError as memorize() does: on an id that is empty, not UTF-8, longer than 4096
  /// bytes or has control characters, and, under kRefuse, on one that is in use.
  void check_id(const std::string& id, Duplicates duplicates) const;

  /// Memorizes a text: UTF-8 without zero bytes, not empty. If the tokenizer has an end of text,
  /// that token ends the document. metadata are added to those that a document of this id has
  /// already. Throws TextError on other texts, on one that the tokenizer cannot encode, and on one
  /// whose windows would not fit in this machine's memory; UsageError as check_id(), and on
  /// metadata of more than 1 MiB. on_progress: tokens of the document; it is called at least once a
  /// second, but for slow machines.
  Memorized memorize(const std::string& id, std::string_view text, Duplicates duplicates,
                     const OnProgress& on_progress = {}, const Metadata& metadata = {},
                     Times times = Times::kKept);

  /// Replaces what the store keeps about a document beside its text. Throws UsageError on an
  /// unknown id, and on metadata as memorize().
  void describe(const std::string& id, const DocumentDetails& details);

  /// Forgets one document: the memory then has the same bits as that of a store which never held
  /// it. The next checkpoint() removes its text from the files; before that it is added to the
  /// store's history, if it keeps one. Throws UsageError on an unknown id.
  void forget(const std::string& id, const OnProgress& on_progress = {});

  /// Writes the matrices that changed beside those that are there, so that settle() has only to
  /// put them in place. Throws std::runtime_error, as settle() does, where the folder does not
  /// lead to this store any more: it was moved or replaced, or it is relative and the process has
  /// another working folder now. What was edited is in the ledger. Where text is to be erased and
  /// the disk has no room for both, the old ones are removed first; a process killed then leaves a
  /// store that verify --repair mends.
  void write_matrices();

  /// write_matrices(), puts them in place and settles the ledger. It costs a pass over the whole
  /// ledger, which is checked and copied, and one over the matrices that changed. Returns whether
  /// there was anything to do; then tidy() has to follow.
  bool settle();
  /// Erases what was forgotten. Throws ErasureDelayed if another process still reads it.
  void tidy(Readers readers) { ledger_.tidy(readers); }
  /// settle() and tidy(): the store's files are then those of a store that never held what was
  /// forgotten. To be called at the end.
  void checkpoint(Readers readers = Readers::kWait);

  /// Rebuilds the memory and the full-text index from the ledger's documents, whatever the matrix
  /// file and the index hold, in one transaction: as much work as memorizing all of them.
  void rebuild(const OnProgress& on_progress = {});

 private:
  using Clock = std::chrono::steady_clock;

  void finish_erasure();
  void index_documents();
  std::optional<Memorized> keep(const StoredDocument& known, std::string_view text,
                                const Metadata& metadata);
  void commit(sqlite::Transaction& transaction);
  void sync();
  void load();
  memo::TextMemory take();
  bool is_settled(size_t shard) const;
  bool is_written(size_t shard) const;
  void keep_work();
  void check_place() const;
  void make_room();
  void put_back(memo::TextMemory memory, Clock::time_point started);
  memo::TokenPieces encoded(const std::string& id, std::string_view text,
                            const OnProgress& on_progress);
  memo::TokenPieces stored(const StoredDocument& document, const OnProgress& on_progress) const;

  StoreFolder folder_;
  FileLock lock_;
  Ledger ledger_;
  TextEncoder encoder_;
  std::optional<memo::TextMemory> memory_;  // at the ledger's last change; if absent, to be read
  /// A settled matrix of a shard, in its file or beside it.
  struct Settled {
    std::string digest = {};
    int64_t edits = -1;  ///< MemoryShard::edits() of what it holds; -1: there is none
  };
  std::vector<Settled> in_place_, beside_;  // of each shard; empty if unknown
  Clock::time_point synced_ = {};           // when the ledger was
  bool is_synced_ = false;                  // nothing was committed since
  double seconds_of_edits_ = 0;             // since the matrices were written
  double seconds_of_writing_ = 0.1;
};

}  // namespace tessera::store
