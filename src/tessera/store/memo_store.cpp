#include "tessera/store/memo_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/new_folder.h"
#include "tessera/base/safetensors.h"
#include "tessera/plan/correlation_noise.h"
#include "tessera/store/detail/matrix_file.h"
#include "tessera/store/digest.h"

namespace tessera::store {

void MemoStore::create(const std::filesystem::path& path, const memo::TextMemoryConfig& memory,
                       const Tokenizer& tokenizer) {
  const StoreConfig config = StoreConfig::of(memory, tokenizer);
  NewFolder folder(path);
  const FileLock lock = StoreFolder::lock(folder.path());
  StoreFolder::create_empty(folder.path(), config, tokenizer);
  InterruptGuard::stop_if_interrupted("interrupted; nothing was created");
  folder.commit();
}

MemoStore::MemoStore(const std::filesystem::path& folder)
    : folder_(StoreFolder::open(folder)), ledger_(folder_.open_ledger(sqlite::Access::kRead)) {
  constexpr int kAttempts = 100;
  // First the ledger, then the matrices. If a writer settled the store in between, they do not
  // belong together: try again.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ledger_.take_snapshot();
    files_ = folder_.open_matrices(ledger_);
    if (std::ranges::all_of(StoreFolder::changes_in(files_, ledger_),
                            [](const auto& change) { return change.has_value(); }))
      return;
  }
}

MemoStore::~MemoStore() = default;

const memo::TextMemory& MemoStore::memory() const {
  if (!memory_) memory_.emplace(folder_.memory(files_, ledger_));
  return *memory_;
}

std::vector<int64_t> MemoStore::token_counts() const {
  if (token_counts_.empty()) token_counts_ = ledger_.token_counts();
  return token_counts_;
}

std::string MemoStore::digest() const {
  std::vector<std::string> digests;
  for (const MatrixFile& file : files_) digests.push_back(file.state().digest);
  const bool is_last = std::ranges::all_of(
      StoreFolder::changes_in(files_, ledger_),
      [last = ledger_.last_change()](const auto& change) { return change == last; });
  if (!is_last || std::ranges::count(digests, "") > 0)
    return content_digest(config().text(), memory());
  return digest_of_shards(digests);
}

void export_memory(const MemoStore& store, const std::filesystem::path& out) {
  check_writable(out);
  const memo::TextMemory& memory = store.memory();
  std::vector<safetensors::NamedTensor> tensors;
  for (const memo::MemoryShard& shard : memory.shards()) {
    const memo::ExactCorrelationMemory& matrix = shard.matrix();
    const std::string name =
        memory.shards().size() == 1 ? "C" : fmt::format("C.{}", tensors.size());
    tensors.push_back({name,
                       {matrix.bits() == 32 ? safetensors::DType::kI32 : safetensors::DType::kI64,
                        {matrix.rows(), matrix.columns()},
                        {}}});
  }
  AtomicFile file(out);
  file.write(safetensors::header(tensors, {{"format", "tessera-memo-1"},
                                           {"config", store.config().text()},
                                           {"tokenizer", store.tokenizer().to_json()},
                                           {"pairs", std::to_string(memory.pairs())},
                                           {"digest", store.digest()},
                                           {"noise", fmt::format("{}", memory.noise())}}));
  for (const memo::MemoryShard& shard : memory.shards()) file.write(shard.matrix().bytes());
  file.commit();
}

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

}  // namespace

Fullness fullness_of(const memo::TextMemory& memory) {
  const memo::TextMemoryConfig& config = memory.config();
  const double ratio = memory.noise() / theory::correlation_noise(code_of(config, 1), 1.0);
  const double energy = ratio * ratio;  // of a shard
  Fullness fullness;
  fullness.capacity = pair_capacity(config);
  const bool bound = config.code == memo::WindowCodeKind::kBound;
  const double pairs = bound ? config.shards * energy : static_cast<double>(memory.pairs());
  fullness.filled = pairs / std::max(1.0, fullness.capacity);
  for (int32_t layers = 1; layers <= config.layers; ++layers)
    fullness.expected_recall_after.push_back(
        energy > 0 ? theory::correlation_recall(code_of(config, layers), energy) : 1.0);
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
