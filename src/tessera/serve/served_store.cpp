#include "tessera/serve/served_store.h"

#include <utility>

#include "tessera/base/error.h"
#include "tessera/serve/api_error.h"

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
  if (!snapshot_) {
    snapshot_ = std::make_unique<Snapshot>(folder_);
    change_ = snapshot_->store.ledger().last_change();
    looked_ = std::chrono::steady_clock::now();
  }
  use(*snapshot_);
}

bool ServedStore::is_stale() {
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kStale) return false;
  looked_ = now;
  const store::StoreFolder& folder = snapshot_->store.folder();
  const store::Ledger ledger(folder.ledger_path(), store::sqlite::Access::kRead,
                             folder.config().text(), folder.config().memory.vocabulary);
  return ledger.last_change() != change_;
}

store::MemoWriter ServedStore::writer() const {
  try {
    return store::MemoWriter(folder_);
  } catch (const DataError&) {
    throw;
  } catch (const SystemError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw ApiError(503, "{}", error.what()).with_code("store_is_being_written").retry_after(5);
  }
}

/// Readers hold the ledger's older state, from which nothing can be erased.
void ServedStore::checkpoint(store::MemoWriter& writer) {
  const std::lock_guard lock(reading_);
  snapshot_.reset();
  writer.checkpoint();
}

store::Memorized ServedStore::memorize(const std::string& id, const std::string& text, bool replace,
                                       const OnTokens& on_tokens) {
  const std::lock_guard lock(writing_);
  store::MemoWriter writer = this->writer();
  const auto duplicates = replace ? store::Duplicates::kReplace : store::Duplicates::kRefuse;
  if (!replace && writer.ledger().find(id))
    throw ApiError(409, "'{}' is stored already; ?replace=true replaces it", id)
        .about("id")
        .with_code("document_exists");
  store::Memorized outcome;
  try {
    outcome = writer.memorize(id, text, duplicates, on_tokens);
  } catch (const DataError& error) {
    throw ApiError(422, "{}", error.what()).about("text");
  }
  checkpoint(writer);
  return outcome;
}

store::StoredDocument ServedStore::forget(const std::string& id, const OnTokens& on_tokens) {
  const std::lock_guard lock(writing_);
  store::MemoWriter writer = this->writer();
  const store::StoredDocument document = document_of(writer.ledger(), id);
  writer.forget(id, on_tokens);
  checkpoint(writer);
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
