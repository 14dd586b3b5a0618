#include "tessera/store/statistics.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "tessera/plan/correlation_noise.h"

namespace tessera::store {
namespace {

constexpr double kRecall = 0.99;

/// The memory's code, as a context that fills the first `layers` windows reads it.
theory::CorrelationCode code_of(const memo::TextMemoryConfig& config, int32_t layers) {
  const bool bound = config.code == memo::WindowCodeKind::kBound;
  return {.rows = config.dimension,
          .columns = config.dimension,
          .vocabulary = config.vocabulary,
          .layers = layers,
          .key_variance = bound ? 1.0 : theory::shared_gaussian_key_variance(config.heads),
          .lengths_vary = !bound,
          .values_bound = bound};
}

int64_t file_bytes(const std::filesystem::path& path) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(path, missing);
  return missing ? 0 : static_cast<int64_t>(size);
}

}  // namespace

Fullness fullness_of(const memo::TextMemory& memory) {
  const memo::TextMemoryConfig& config = memory.config();
  // The pairs of a shard, by the noise that the memory has, which includes what pairs shared by
  // several documents cost.
  const double ratio = memory.noise() / theory::correlation_noise(code_of(config, 1), 1.0);
  const auto pairs = static_cast<double>(memory.pairs());
  Fullness fullness;
  fullness.capacity = pair_capacity(config);
  fullness.filled = pairs / std::max(1.0, fullness.capacity);
  for (int32_t layers = 1; layers <= config.layers; ++layers)
    fullness.expected_recall_after.push_back(
        pairs > 0 ? theory::correlation_recall(code_of(config, layers), ratio * ratio) : 1.0);
  return fullness;
}

double pair_capacity(const memo::TextMemoryConfig& config) {
  return config.shards * theory::correlation_capacity(code_of(config, config.layers), kRecall);
}

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
