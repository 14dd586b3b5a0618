#include "program/serve/served_store.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include "program/serve/api_error.h"
#include "tessera/base/error.h"
#include "tessera/store/sqlite.h"

namespace tessera::serve {
namespace {

constexpr auto kStale = std::chrono::milliseconds(500);  // between two looks at the ledger
constexpr auto kOneTime = std::chrono::seconds(2);  // within it, writings may have one time stamp
constexpr auto kLook = std::chrono::milliseconds(20);  // between two at whether to go on reading
constexpr auto kInPeace = std::chrono::seconds(1);     // for readers, before text is erased
constexpr size_t kIdleSnapshots = 4;                   // that are kept for the next readers
constexpr int kAttempts = 5;                           // to read between two erasures

struct stat identity_of(const std::string& folder) {
  const std::string path = folder + "/config.json";  // written once, when a store is created
  struct stat identity = {};
  if (::stat(path.c_str(), &identity) == 0) return identity;
  const int cause = errno;
  store::StoreFolder::open(folder);  // says that there is no store
  throw SystemError(path, "open", cause);
}

/// Of the ledger and its log: where they lie, how long they are, and when they were written. None
/// where that was just now, since what is written next may have the same time.
ServedStore::Writing last_writing(const std::filesystem::path& ledger) {
  std::vector<int64_t> files;
  for (const char* suffix : {"", "-wal"}) {
    struct stat file = {};
    if (::stat((ledger.native() + suffix).c_str(), &file) != 0) continue;
    const auto written =
        std::chrono::seconds(file.st_mtim.tv_sec) + std::chrono::nanoseconds(file.st_mtim.tv_nsec);
    if (std::chrono::system_clock::now().time_since_epoch() - written < kOneTime) return {};
    files.insert(files.end(), {static_cast<int64_t>(file.st_ino), file.st_size, written.count()});
  }
  return files;
}

ApiError replaced() {
  return ApiError(503, "the store was rebuilt just now; ask again")
      .with_code("store_was_rebuilt")
      .retry_after(1);
}

}  // namespace

ServedStore::ServedStore(std::string name, std::string folder)
    : name_(std::move(name)),
      identity_(identity_of(folder)),
      folder_(store::StoreFolder::open(folder)) {
  read([](const Snapshot& snapshot) { snapshot.store.memory(); });
}

bool ServedStore::was_replaced() const {
  struct stat now = {};
  return ::stat((folder_.path() / "config.json").c_str(), &now) != 0 ||
         now.st_dev != identity_.st_dev || now.st_ino != identity_.st_ino ||
         now.st_ctim.tv_sec != identity_.st_ctim.tv_sec ||
         now.st_ctim.tv_nsec != identity_.st_ctim.tv_nsec;
}

void ServedStore::retire() {
  retired_ = true;
  const std::lock_guard lock(mutex_);
  idle_.clear();
}

// ---- Readers.

ServedStore::Snapshot::Snapshot(const std::filesystem::path& folder, int64_t change)
    : store(folder), change_(change) {}

const store::StoreReader& ServedStore::Snapshot::reader() const {
  if (!reader_) reader_.emplace(store);
  return *reader_;
}

size_t ServedStore::Snapshot::longest_id() const {
  if (!longest_id_) {
    size_t longest = 0;
    for (const auto& document : store.ledger().documents())
      longest = std::max(longest, document.id.size());
    longest_id_ = longest;
  }
  return *longest_id_;
}

void ServedStore::Snapshot::look_up() const {
  if (interrupts_ && interrupts_()) throw Interrupted("reading was given up");
}

/// One reader, with a snapshot of its own.
class ServedStore::Reader {
 public:
  Reader(ServedStore& store, const Unwanted& unwanted)
      : store_(store), unwanted_(unwanted), era_(store.begin_reading(snapshot_, unwanted)) {
    try {
      if (!snapshot_) snapshot_ = std::make_unique<Snapshot>(store.folder_.path(), store.change_);
      snapshot_->interrupts_ = [this] { return is_over(); };
      snapshot_->store.interrupt_when(snapshot_->interrupts_);
    } catch (...) {
      store_.end_reading(era_, nullptr);
      throw;
    }
  }
  ~Reader() {
    snapshot_->interrupts_ = {};
    snapshot_->store.interrupt_when({});
    store_.end_reading(era_, std::move(snapshot_));
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  const Snapshot& snapshot() const { return *snapshot_; }

 private:
  bool is_over() {
    const auto now = Clock::now();
    if (now - looked_ < kLook) return false;
    looked_ = now;
    return store_.retired_ || (store_.erases_ && now - began_ > kInPeace) ||
           (unwanted_ && unwanted_());
  }

  ServedStore& store_;
  const Unwanted& unwanted_;
  std::unique_ptr<Snapshot> snapshot_;
  int64_t era_;
  Clock::time_point began_ = Clock::now(), looked_ = began_;
};

void ServedStore::read(const std::function<void(const Snapshot&)>& use, const Unwanted& unwanted) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Reader reader(*this, unwanted);
    try {
      return use(reader.snapshot());
    } catch (const Interrupted&) {
      if (retired_) throw replaced();
      if (unwanted && unwanted()) throw given_up();
    }
  }
  throw ApiError(503, "documents are forgotten faster than this answer can be found; ask again")
      .with_code("store_is_being_written")
      .retry_after(5);
}

/// Returns the era in which it begins; takes an idle snapshot if there is one. Throws ApiError 503
/// where it is unwanted before it may begin.
int64_t ServedStore::begin_reading(std::unique_ptr<Snapshot>& snapshot, const Unwanted& unwanted) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLook, [this] { return !closed_; })) {
    lock.unlock();  // who is asked may have to send something first
    if (unwanted && unwanted()) throw given_up();
    lock.lock();
  }
  if (retired_ || was_replaced()) throw replaced();
  see_changes();
  if (!idle_.empty()) {
    snapshot = std::move(idle_.back());
    idle_.pop_back();
  }
  ++reading_;
  return era_;
}

void ServedStore::end_reading(int64_t era, std::unique_ptr<Snapshot> snapshot) {
  {
    const std::lock_guard lock(mutex_);
    const bool is_kept = snapshot && snapshot->change_ == change_ && !erases_ && !retired_ &&
                         idle_.size() < kIdleSnapshots;
    if (is_kept) idle_.push_back(std::move(snapshot));
  }
  snapshot.reset();  // before whoever erases believes that it is gone
  const std::lock_guard lock(mutex_);
  --reading_;
  if (era != era_) --reading_before_;
  changed_.notify_all();
}

/// Drops the snapshots that are older than the ledger.
void ServedStore::see_changes() {
  const auto now = Clock::now();
  if (now - looked_ < kStale) return;
  looked_ = now;
  const Writing writing = last_writing(folder_.ledger_path());
  if (writing && writing == last_writing_) return;
  last_writing_ = writing;
  ++change_;
  idle_.clear();
}

/// Does what must not be done while anybody reads. Readers that began before it may end in peace,
/// and others begin beside them; those that take too long see erases_.
void ServedStore::alone(const std::function<void()>& work) {
  std::unique_lock lock(mutex_);
  ++era_;
  reading_before_ = reading_;
  erases_ = true;
  changed_.wait(lock, [this] { return reading_before_ == 0; });
  closed_ = true;
  changed_.wait(lock, [this] { return reading_ == 0; });
  idle_.clear();
  lock.unlock();
  const std::shared_ptr<void> open_again(nullptr, [&](void*) {
    lock.lock();
    closed_ = false;
    erases_ = false;
    changed_.notify_all();
  });
  work();
}

// ---- Writers.

/// The edits that one writer does in a row, before it writes the matrix for all of them: the one
/// that found no writer, and those that waited for their turn at that moment.
struct ServedStore::Round {
  std::unique_ptr<store::MemoWriter> writer;
  int64_t to_come = 1;  // edits
  bool changed = false, ended = false;
  bool erased = true;                    // what was forgotten; not while another process reads it
  std::exception_ptr failure = nullptr;  // of writing the matrix, or of erasing
};

/// A writer first erases what was forgotten and could not be erased.
std::unique_ptr<store::MemoWriter> ServedStore::writer() {
  if (was_replaced()) throw replaced();
  const bool erases = folder_.open_ledger(store::sqlite::Access::kRead).erasure_pending();
  if (!erases) return open_writer();
  std::unique_ptr<store::MemoWriter> writer;
  alone([&] { writer = open_writer(); });
  return writer;
}

std::unique_ptr<store::MemoWriter> ServedStore::open_writer() const {
  try {
    return std::make_unique<store::MemoWriter>(folder_.path());
  } catch (const DataError&) {
    throw;
  } catch (const SystemError&) {
    throw;
  } catch (const std::runtime_error&) {  // its message has paths of this machine
    throw ApiError(503, "another process writes to the store or has just rebuilt it; ask again")
        .with_code("store_is_being_written")
        .retry_after(5);
  }
}

/// Does an edit in the round that there is, or begins one; returns when the round has ended, with
/// whether what was forgotten is erased. Those that have changed something see to that end, also
/// where nobody else comes because they have left.
bool ServedStore::take_part(const std::function<void(store::MemoWriter&)>& change,
                            const Unwanted& unwanted) {
  ++waiting_;
  std::unique_lock turn(writing_, std::defer_lock);
  const bool is_wanted = wait_for_turn(turn, unwanted);
  const int64_t behind = --waiting_;
  if (!is_wanted) throw given_up();
  if (!round_) round_ = std::make_shared<Round>(Round{writer(), 1 + behind});
  const std::shared_ptr<Round> round = round_;
  std::exception_ptr refusal;
  try {
    change(*round->writer);
    round->changed = true;
  } catch (...) {
    refusal = std::current_exception();
  }
  --round->to_come;
  while (!round->ended) {
    if (!round->changed || round->to_come == 0 || waiting_ == 0)
      end_round();
    else if (refusal)
      break;
    else
      round_ended_.wait_for(turn, kLookForClient);
  }
  if (refusal) std::rethrow_exception(refusal);
  if (round->failure) std::rethrow_exception(round->failure);
  return round->erased;
}

void ServedStore::end_round() {
  const std::shared_ptr<Round> round = std::exchange(round_, nullptr);
  try {
    if (round->changed) checkpoint(*round->writer);
  } catch (const store::ErasureDelayed&) {  // the edits themselves are done
    round->erased = false;
  } catch (...) {
    round->failure = std::current_exception();
  }
  round->writer.reset();
  round->ended = true;
  round_ended_.notify_all();
}

/// The next readers get a snapshot that is taken before the writer closes the ledger: its last user
/// would have to empty SQLite's log. Text that another process still reads is erased by a later
/// edit: those that come meanwhile must not wait for it, one after the other.
void ServedStore::checkpoint(store::MemoWriter& writer) {
  const auto drop_idle = [&] {  // else SQLite's log would grow
    const std::lock_guard lock(mutex_);
    idle_.clear();
  };
  drop_idle();
  if (!writer.settle()) return;
  const auto finish = [&] {
    drop_idle();
    writer.tidy(store::Readers::kPass);
    auto next = std::make_unique<Snapshot>(folder_.path(), change_);
    const Writing writing = last_writing(folder_.ledger_path());
    const std::lock_guard lock(mutex_);
    last_writing_ = writing;
    next->change_ = ++change_;
    looked_ = Clock::now();
    idle_.clear();
    idle_.push_back(std::move(next));
  };
  if (writer.ledger().erasure_pending())
    alone(finish);
  else
    finish();
}

jobs::Memorize::Answer ServedStore::edit(const jobs::Memorize& job, const OnProgress& on_progress,
                                         const Unwanted& unwanted) {
  std::optional<jobs::Memorize::Answer> answer;
  const auto memorize = [&](store::MemoWriter& writer) {
    if (!job.replace && writer.ledger().find(job.id))
      throw ApiError(409, "'{}' is stored already; ?replace=true replaces it", job.id)
          .about("id")
          .with_code("document_exists");
    try {
      answer = job.run(writer, on_progress);
    } catch (const store::TextError& error) {
      throw ApiError(422, "{}", error.what()).about("text");
    }
  };
  const bool erased = take_part(memorize, unwanted);
  answer->erasure_pending = !erased && answer->outcome == store::Memorized::kReplaced;
  return *std::move(answer);
}

jobs::Forget::Answer ServedStore::edit(const jobs::Forget& job, const OnProgress& on_progress,
                                       const Unwanted& unwanted) {
  std::optional<jobs::Forget::Answer> answer;
  const auto forget = [&](store::MemoWriter& writer) { answer = job.run(writer, on_progress); };
  const bool erased = take_part(forget, unwanted);
  answer->erasure_pending = !erased;
  return *std::move(answer);
}

}  // namespace tessera::serve
