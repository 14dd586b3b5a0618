#include "tessera/store/statistics.h"

#include <filesystem>
#include <system_error>

namespace tessera::store {
namespace {

int64_t file_bytes(const std::filesystem::path& path) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(path, missing);
  return missing ? 0 : static_cast<int64_t>(size);
}

}  // namespace

StoreStatistics statistics_of(const MemoStore& store) {
  int64_t matrix_bytes = 0;
  for (int32_t shard = 0; shard < store.config().memory.shards; ++shard)
    matrix_bytes += file_bytes(store.folder().matrix_path(shard));
  return {.digest = store.digest(),
          .totals = store.ledger().totals(),
          .fullness = fullness_of(store.memory()),
          .memory = store.config().memory,
          .tokenizer = store.tokenizer().description(),
          .matrix_bytes = matrix_bytes,
          .ledger_bytes = file_bytes(store.folder().ledger_path()),
          .erasure_pending = store.ledger().erasure_pending(),
          .unerased = store.ledger().unerased()};
}

}  // namespace tessera::store
