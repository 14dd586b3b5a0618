#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/memo/readable_memory.h"
#include "tessera/memo/text_memory_config.h"
#include "tessera/memo/window_code.h"

namespace tessera::memo {

/// A memory of texts: a correlation matrix memory that holds, for every position of every document
/// and every window length, which token followed (Zanzotto et al. 2025, sec. 3.2).
///
/// Differs from the paper: each (window, next token) is written once for each document. So what a
/// document adds depends on that document alone, and after forgetting it C has the same bits as if
/// it had never been read. A copy is independent.
///
/// Differs from the paper: C may be divided into S shards. A pair is written to the shard that its
/// window chooses (shard_of()), and a window is read from that shard alone. N pairs in S matrices
/// of width d make as much noise, N / (S d^2), as in one of width sqrt(S) d, which has as many
/// numbers; but each pair costs d^2 operations in place of S d^2.
class TextMemory final : public ReadableMemory {
 public:
  /// An empty memory. Throws what check_config() throws.
  explicit TextMemory(const TextMemoryConfig& config);
  /// One with these shards. Throws UsageError unless there are config.shards of them.
  TextMemory(const TextMemoryConfig& config, std::vector<MemoryShard> shards);

  /// Stores one document; returns the number of pairs written. Throws UsageError on
  /// token ids outside the vocabulary; after that, and after whatever `document` or the file of a
  /// shard throws, the memory is as before. After Interrupted, which is not to take as long as the
  /// work did, it is of no use.
  int64_t memorize(const TokenPieces& document) { return edit(Edit::kStore, document); }
  /// Removes exactly the pairs that memorize() of the same tokens wrote; returns how many.
  int64_t forget(const TokenPieces& document) { return edit(Edit::kForget, document); }
  /// One or the other, in the chosen shards alone (all, if `chosen` is empty).
  using ShardChoice = std::function<bool(size_t shard)>;
  int64_t edit(Edit edit, const TokenPieces& document, const ShardChoice& chosen = {});
  /// Adds what the other holds. Throws UsageError on another configuration; after that, and after
  /// whatever the file of a shard throws, the memory is as before.
  void merge(const TextMemory& other);

  /// The longest document, in tokens, whose distinct pairs fit in this machine's memory.
  static int64_t most_tokens(const TextMemoryConfig& config);

  const WindowCode& code() const override { return *code_; }
  std::vector<float> retrieve(const WindowQueries& queries) const override;
  /// One pass over C after each change.
  double noise() const override;
  double noise(size_t shard) const override { return code_->noise(shards_[shard].energy()); }
  /// Number of pairs held now.
  int64_t pairs() const;
  std::span<const MemoryShard> shards() const { return shards_; }

 private:
  int64_t write(Edit edit, const TokenPieces& document, const ShardChoice& chosen,
                std::vector<int32_t>& done);
  int64_t write_batch(Edit edit, std::span<const int32_t> text, std::span<const WindowPair> pairs,
                      const ShardChoice& chosen);

  std::shared_ptr<const WindowCode> code_;
  std::vector<MemoryShard> shards_;
};

}  // namespace tessera::memo
