#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tessera/memo/text_memory.h"
#include "tessera/store/ledger.h"
#include "tessera/store/questioned_store.h"
#include "tessera/store/store_folder.h"

namespace tessera::store {

/// A store opened for reading. It shows the state at the moment of opening, while others may write.
/// For one thread.
class MemoStore final : public QuestionedStore {
 public:
  /// Creates a store without documents, as a whole or not at all. memory.vocabulary is set to the
  /// tokenizer's. Throws UsageError if the folder exists and is not empty, UsageError as
  /// check_config() does, SystemError.
  static void create(const std::filesystem::path& folder, const memo::TextMemoryConfig& memory,
                     const Tokenizer& tokenizer);

  /// Throws DataError if a file is damaged, has another version or belongs to another store;
  /// SystemError.
  explicit MemoStore(const std::filesystem::path& folder);
  ~MemoStore() override;

  const std::filesystem::path& path() const { return folder_.path(); }
  const StoreFolder& folder() const { return folder_; }
  const StoreConfig& config() const override { return folder_.config(); }
  const Tokenizer& tokenizer() const override { return folder_.tokenizer(); }
  const Ledger& ledger() const { return ledger_; }
  /// Members that read documents give up and throw Interrupted where this is true.
  void interrupt_when(std::function<bool()> condition) {
    ledger_.interrupt_when(std::move(condition));
  }
  /// At the first call brought up to date. A matrix is checked when it is first needed; where its
  /// file is damaged, DataError is thrown then.
  const memo::TextMemory& memory() const override;
  /// One pass over the documents at the first call.
  std::vector<int64_t> token_counts() const override;
  /// Of more than 1024 places that fit equally well, the first 1024 are looked at.
  Readings readings(std::string_view typed) const override;
  std::vector<TokenSources> sources(std::span<const int32_t> text, size_t first,
                                    size_t most) const override;
  /// content_digest() of the memory; as the files say it, if they hold the last change.
  std::string digest() const;

 private:
  StoreFolder folder_;
  Ledger ledger_;
  std::vector<MatrixFile> files_;
  mutable std::optional<memo::TextMemory> memory_;
  mutable std::vector<int64_t> token_counts_;
};

/// Writes a store's memory as one safetensors file, without its documents: the tensor "C" [d, d]
/// (I32 or I64; in several shards "C.0", "C.1", ...), and as metadata what is needed to read it:
/// "config" (code, dimension, heads, layers, shards, vocabulary, seed), "tokenizer" (the content of
/// tokenizer.json), "pairs", "digest", and "noise", the standard deviation of one window's score.
/// Throws SystemError.
void export_memory(const MemoStore& store, const std::filesystem::path& out);

/// How full a memory is, by the noise law of correlation memories (plan/correlation_noise.h). It
/// assumes uniform tokens and one stored continuation of every context: natural text, with its
/// repeated windows, is recalled a little worse.
struct Fullness {
  double capacity = 0;  ///< pairs that are recalled at a rate of 99 %
  /// Pairs held / capacity, above 1 when overfull. With the code `bound` by the memory's noise: a
  /// pair that n documents hold counts n^2.
  double filled = 0;
  /// Share of tokens recalled now, after a context as long as each window length, shortest first;
  /// 1 in an empty memory.
  std::vector<double> expected_recall_after;
};

Fullness fullness_of(const memo::TextMemory& memory);

/// Fullness::capacity of a memory of this configuration.
double pair_capacity(const memo::TextMemoryConfig& config);

/// What a store holds.
struct StoreStatistics {
  std::string digest;  ///< MemoStore::digest()
  LedgerTotals totals;
  Fullness fullness;
  memo::TextMemoryConfig memory;
  std::string tokenizer;                       ///< Tokenizer::description()
  int64_t matrix_bytes = 0, ledger_bytes = 0;  ///< of their files
  bool erasure_pending = false;                ///< as Ledger has it
  std::vector<std::string> unerased;
};

/// As the files say it, without reading the matrices, if they hold the last change. Throws as
/// MemoStore::memory().
StoreStatistics statistics_of(const MemoStore& store);

}  // namespace tessera::store
