#pragma once

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "program/jobs/store_jobs.h"
#include "program/serve/unwanted.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/memo_writer.h"
#include "tessera/store/recall.h"

namespace tessera::serve {

/// A store that is read and edited while it is served. From any thread.
///
/// Each reader has a snapshot of its own, so that no reader waits for another, or for a document
/// that is being memorized. Only forgotten text is erased while nobody reads: readers that have
/// taken longer than a second then begin again, on the state after it.
///
/// Writers take turns. Edits that wait for the same writer share what follows them: the matrix is
/// written and forgotten text erased once for all of them, before any of them returns. Changes by
/// other processes are seen within half a second.
class ServedStore {
 public:
  /// Throws DataError and SystemError as MemoStore.
  ServedStore(std::string name, std::string folder);

  const std::string& name() const { return name_; }
  const Tokenizer& tokenizer() const { return folder_.tokenizer(); }

  /// What one reader sees: the store at one moment, and its decoder.
  class Snapshot {
   public:
    Snapshot(const std::filesystem::path& folder, int64_t change);
    /// Made at the first call: a pass over the documents.
    const store::StoreReader& reader() const;
    /// Bytes of the longest id. At the first call a look at each document.
    size_t longest_id() const;
    /// To be called now and then by what takes long without reading documents: throws
    /// Interrupted where the reader has to begin again, or is not wanted any more.
    void look_up() const;

    store::MemoStore store;

   private:
    friend class ServedStore;
    int64_t change_;  // of ServedStore: it has at least so many of its changes
    mutable std::optional<store::StoreReader> reader_;
    mutable std::optional<size_t> longest_id_;
    std::function<bool()> interrupts_;
  };
  /// Calls `use` with the store as it is now; again from the start where forgotten text was erased
  /// meanwhile. Throws what `use` throws, and as MemoStore; ApiError 503 where it is unwanted,
  /// where it was begun again too often, and where the store was replaced.
  void read(const std::function<void(const Snapshot&)>& use, const Unwanted& unwanted = {});

  /// One document, in one transaction, which is completed once it has begun. Throws ApiError: 409
  /// where the id is taken and is not to be replaced, 422 where the text cannot be stored, 503
  /// where another process is writing, and where it is unwanted before its turn; UsageError as the
  /// job.
  jobs::Memorize::Answer edit(const jobs::Memorize& job, const OnProgress& on_progress,
                              const Unwanted& unwanted = {});
  /// Where another process still reads what is forgotten, the answer says that its text is not
  /// erased yet. Throws store::UnknownDocument where there is no such document; ApiError 503 as
  /// above.
  jobs::Forget::Answer edit(const jobs::Forget& job, const OnProgress& on_progress,
                            const Unwanted& unwanted = {});

  /// What a look at a ledger's files, without reading them, tells of their last writing.
  using Writing = std::optional<std::vector<int64_t>>;

  /// Whether another store stands in its folder now (`tessera memo rebuild`).
  bool was_replaced() const;
  /// Ends all reading: what is recited from now on comes from the store that replaced it.
  void retire();

 private:
  using Clock = std::chrono::steady_clock;
  class Reader;
  struct Round;

  int64_t begin_reading(std::unique_ptr<Snapshot>& snapshot, const Unwanted& unwanted);
  void end_reading(int64_t era, std::unique_ptr<Snapshot> snapshot);
  void see_changes();
  void alone(const std::function<void()>& work);
  std::unique_ptr<store::MemoWriter> writer();
  std::unique_ptr<store::MemoWriter> open_writer() const;
  bool take_part(const std::function<void(store::MemoWriter&)>& change, const Unwanted& unwanted);
  void end_round();
  void checkpoint(store::MemoWriter& writer);

  std::string name_;
  struct stat identity_;  // of its configuration's file
  store::StoreFolder folder_;

  std::atomic<int64_t> waiting_ = 0;  // edits, for writing_
  std::timed_mutex writing_;          // guards the next two
  std::shared_ptr<Round> round_;      // that takes edits, if there is one
  std::condition_variable_any round_ended_;

  std::atomic<bool> erases_ = false, retired_ = false;  // readers see to it that they end
  std::mutex mutex_;                                    // guards what follows, and is held briefly
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Snapshot>> idle_;  // of the latest change
  std::atomic<int64_t> change_ = 0;              // how many changes were seen
  Writing last_writing_;                         // of the ledger
  Clock::time_point looked_;                     // for the next one
  int64_t reading_ = 0;                          // readers that there are
  int64_t era_ = 0;                              // between two erasures
  int64_t reading_before_ = 0;                   // readers that began in an earlier one
  bool closed_ = false;                          // to readers
};

}  // namespace tessera::serve
