#include "tessera/store/memo_store.h"

#include "tessera/store/digest.h"
#include "tessera/store/new_folder.h"
#include "tessera/store/store_lock.h"

namespace tessera::store {
namespace {

constexpr int kAttempts = 100;

}  // namespace

void MemoStore::create(const std::filesystem::path& path, const memo::TextMemoryConfig& memory,
                       const Tokenizer& tokenizer) {
  const StoreConfig config = StoreConfig::of(memory, tokenizer);
  NewFolder folder(path);
  const StoreLock lock(folder.path() / "lock");
  StoreFolder::create(folder.path(), config, tokenizer)
      .write_matrix(memo::TextMemory(config.memory), 0);
  folder.commit();
}

MemoStore::MemoStore(const std::filesystem::path& folder)
    : folder_(StoreFolder::open(folder)),
      ledger_(folder_.ledger_path(), sqlite::Access::kRead, config().text(),
              config().memory.vocabulary) {
  // First the ledger, then the matrix: the matrix contains whatever a checkpoint has removed from
  // the journal by then. If a writer came in between, the matrix is ahead: try again.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ledger_.take_snapshot();
    matrix_.emplace(folder_.open_matrix());
    if (matrix_->state().change <= ledger_.last_change()) return;
  }
}

const memo::TextMemory& MemoStore::memory() const {
  if (!memory_) {
    memory_.emplace(folder_.memory(std::move(*matrix_), ledger_));
    matrix_.reset();
  }
  return *memory_;
}

std::string MemoStore::digest() const {
  return content_digest(config().text(), memory().matrix());
}

}  // namespace tessera::store
