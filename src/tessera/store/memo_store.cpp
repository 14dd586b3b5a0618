#include "tessera/store/memo_store.h"

#include <algorithm>

#include "tessera/store/detail/matrix_file.h"
#include "tessera/store/detail/new_folder.h"
#include "tessera/store/detail/source_search.h"
#include "tessera/store/digest.h"
#include "tessera/store/question.h"
#include "tessera/store/sqlite.h"

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
      .write_matrices(memo::TextMemory(config.memory), 0);
  folder.commit();
}

MemoStore::MemoStore(const std::filesystem::path& folder)
    : folder_(StoreFolder::open(folder)),
      ledger_(folder_.ledger_path(), sqlite::Access::kRead, config().text(),
              config().memory.vocabulary) {
  // First the ledger, then the matrices: these contain whatever a checkpoint has removed from the
  // journal by then. If a writer came in between, a matrix is ahead: try again.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ledger_.take_snapshot();
    files_ = folder_.open_matrices();
    const int64_t change = ledger_.last_change();
    if (std::ranges::all_of(files_, [&](const auto& f) { return f.state().change <= change; }))
      return;
  }
}

MemoStore::~MemoStore() = default;

const memo::TextMemory& MemoStore::memory() const {
  if (!memory_) memory_.emplace(folder_.memory(files_, ledger_));
  return *memory_;
}

Readings MemoStore::readings(std::string_view typed) const {
  return readings_of(*this, typed);
}

std::vector<TokenSources> MemoStore::sources(std::span<const int32_t> text, size_t first,
                                             size_t most) const {
  return sources_of(*this, text, first, most);
}

std::string MemoStore::digest() const {
  const int64_t oldest = std::ranges::min(StoreFolder::changes_in(files_, ledger_));
  std::vector<std::string> digests;
  for (const MatrixFile& file : files_) digests.push_back(file.state().digest);
  if (oldest != ledger_.last_change() || std::ranges::count(digests, "") > 0)
    return content_digest(config().text(), memory());
  return digest_of_shards(digests);
}

}  // namespace tessera::store
