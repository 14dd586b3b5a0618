#include "tessera/serve/served_store.h"

#include <exception>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/serve/api_error.h"
#include "tessera/store/sqlite.h"

namespace tessera::serve {
namespace {

constexpr auto kStale = std::chrono::milliseconds(500);  // between two looks at the ledger

}  // namespace

ServedStore::ServedStore(std::string name, std::string folder)
    : name_(std::move(name)),
      folder_(std::move(folder)),
      tokenizer_(store::StoreFolder::open(folder_).tokenizer()) {
  read([](const Snapshot& snapshot) { snapshot.store.memory(); });
}

const store::StoreReader& ServedStore::Snapshot::reader() const {
  if (!reader_) reader_.emplace(store);
  return *reader_;
}

void ServedStore::read(const std::function<void(const Snapshot&)>& use) {
  const std::lock_guard lock(reading_);
  if (snapshot_ && is_stale()) snapshot_.reset();
  if (!snapshot_) take_snapshot();
  use(*snapshot_);
}

void ServedStore::read_apart(const std::function<void(const Snapshot&)>& use) const {
  const std::lock_guard lock(reading_apart_);
  use(Snapshot(folder_));
}

void ServedStore::take_snapshot() {
  snapshot_ = std::make_unique<Snapshot>(folder_);
  change_ = snapshot_->store.ledger().last_change();
  looked_ = std::chrono::steady_clock::now();
}

bool ServedStore::is_stale() {
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kStale) return false;
  looked_ = now;
  return ledger_now().last_change() != change_;
}

/// The snapshot's may be older.
store::Ledger ServedStore::ledger_now() const {
  const store::StoreFolder& folder = snapshot_->store.folder();
  return {folder.ledger_path(), store::sqlite::Access::kRead, folder.config().text(),
          folder.config().memory.vocabulary};
}

/// The edits that one writer does in a row, before it writes the matrix for all of them: the one
/// that found no writer, and those that waited for their turn at that moment.
struct ServedStore::Round {
  std::unique_ptr<store::MemoWriter> writer;
  int64_t to_come = 1;  // edits
  bool changed = false, ended = false;
  std::exception_ptr failure = nullptr;  // of writing the matrix, or of erasing
};

/// A writer first erases what another process forgot and could not erase, and that waits for
/// readers: then none is let in.
std::unique_ptr<store::MemoWriter> ServedStore::writer() {
  const auto erases = [&] {
    const std::lock_guard lock(reading_);
    return snapshot_ && ledger_now().erasure_pending();
  };
  if (!erases()) return open_writer();
  const std::scoped_lock lock(reading_apart_, reading_);
  snapshot_.reset();
  return open_writer();
}

std::unique_ptr<store::MemoWriter> ServedStore::open_writer() const {
  try {
    return std::make_unique<store::MemoWriter>(folder_);
  } catch (const DataError&) {
    throw;
  } catch (const SystemError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw ApiError(503, "{}", error.what()).with_code("store_is_being_written").retry_after(5);
  }
}

/// Does an edit in the round that there is, or begins one; returns when the round has ended.
void ServedStore::edit(const std::function<void(store::MemoWriter&)>& change) {
  ++waiting_;
  std::unique_lock lock(writing_);
  const int64_t behind = --waiting_;
  if (!round_) round_ = std::make_shared<Round>(Round{writer(), 1 + behind});
  const std::shared_ptr<Round> round = round_;
  std::exception_ptr refusal;
  try {
    change(*round->writer);
    round->changed = true;
  } catch (...) {
    refusal = std::current_exception();
  }
  if (--round->to_come == 0)
    end_round();
  else if (!refusal)
    round_ended_.wait(lock, [&] { return round->ended; });
  if (refusal) std::rethrow_exception(refusal);
  if (round->failure) std::rethrow_exception(round->failure);
}

void ServedStore::end_round() {
  const std::shared_ptr<Round> round = std::exchange(round_, nullptr);
  try {
    if (round->changed) checkpoint(*round->writer);
  } catch (...) {
    round->failure = std::current_exception();
  }
  round->writer.reset();
  round->ended = true;
  round_ended_.notify_all();
}

/// Readers hold the ledger's older state, from which nothing can be erased. The next one takes its
/// snapshot before the writer closes the ledger: its last user would have to empty SQLite's log.
void ServedStore::checkpoint(store::MemoWriter& writer) {
  writer.write_matrix();
  const std::scoped_lock lock(reading_apart_, reading_);
  snapshot_.reset();
  writer.checkpoint();
  take_snapshot();
}

store::Memorized ServedStore::memorize(const std::string& id, const std::string& text, bool replace,
                                       const OnTokens& on_tokens) {
  const auto duplicates = replace ? store::Duplicates::kReplace : store::Duplicates::kRefuse;
  store::Memorized outcome = {};
  edit([&](store::MemoWriter& writer) {
    if (!replace && writer.ledger().find(id))
      throw ApiError(409, "'{}' is stored already; ?replace=true replaces it", id)
          .about("id")
          .with_code("document_exists");
    try {
      outcome = writer.memorize(id, text, duplicates, on_tokens);
    } catch (const DataError& error) {
      throw ApiError(422, "{}", error.what()).about("text");
    }
  });
  return outcome;
}

store::StoredDocument ServedStore::forget(const std::string& id, const OnTokens& on_tokens) {
  store::StoredDocument document;
  edit([&](store::MemoWriter& writer) {
    document = document_of(writer.ledger(), id);
    writer.forget(id, on_tokens);
  });
  return document;
}

store::StoredDocument document_of(const store::Ledger& ledger, const std::string& id) {
  try {
    return ledger.get(id);
  } catch (const UsageError& error) {
    throw ApiError(404, "{}", error.what()).about("id").with_code("document_not_found");
  }
}

}  // namespace tessera::serve
