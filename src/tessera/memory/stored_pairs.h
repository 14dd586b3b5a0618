#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/ops/memory_read.h"
#include "tessera/ops/memory_step.h"
#include "tessera/ops/number_formats.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {

/// Which stored pair makes room for a new one when a memory is full.
/// kOldest: the one that was stored first. kLeastUsed: per head, the one with the least attention
/// mass: the sum of its smoothing weights so far, which decays by kUsageDecay per step. A new pair
/// begins with a mass of 1, as if it had been read alone once.
enum class Eviction { kOldest, kLeastUsed };
constexpr std::array<std::string_view, 2> enum_names(Eviction) {
  return {"oldest", "least-used"};
}
constexpr double kUsageDecay = 0.99;

/// How many pairs a memory may hold; 0 means without bound.
struct MemoryBound {
  int64_t pairs = 0;
  Eviction eviction = Eviction::kOldest;

  bool operator==(const MemoryBound&) const = default;
};

/// How a memory keeps its pairs.
struct PairOptions {
  MemoryBound bound;
  /// The numbers of keys and values. Those of fewer bits are rounded once, when they are stored.
  ops::WeightType type = ops::WeightType::kFloat32;

  bool operator==(const PairOptions&) const = default;
};

/// The key-value pairs that B memories of H heads have stored, each row with a count of its own.
/// Pairs come and go as floats or, kept as kFloat32 alone, as doubles. A value: a copy is a fork,
/// and storing into one leaves the other as it was.
class StoredPairs {
 public:
  StoredPairs() = default;
  /// Throws UsageError on a negative bound.
  explicit StoredPairs(PairOptions options);
  StoredPairs(const StoredPairs& other);
  StoredPairs& operator=(const StoredPairs& other);
  StoredPairs(StoredPairs&&) = default;
  StoredPairs& operator=(StoredPairs&&) = default;

  /// Stores one pair in every row: key, value [B, H, D]. Throws UsageError on a shape or dtype
  /// mismatch and on numbers that 8 bits cannot keep (NaN, infinity), storing nothing.
  void store(const at::Tensor& key, const at::Tensor& value);
  /// Stores T pairs a row in their order: keys, values [B, T, H, D]. T = 0 opens a memory of B
  /// rows. Throws as store() does, storing nothing.
  void store_sequence(const at::Tensor& keys, const at::Tensor& values);

  /// Kernel smoothing of the stored values at query [B, H, D]: value [B, H, D], 0 in rows that hold
  /// nothing, and the smoothing weights [B, H, N].
  ops::MemoryReading retrieve(const at::Tensor& query) const;
  /// Tells the memory how much each pair was read, for Eviction::kLeastUsed: weights [B, H, N], as
  /// retrieve() gives them. Throws UsageError on others.
  void count_use(const at::Tensor& weights);
  /// Stores a pair, then answers a query, and so on in turn; where there is one query more than
  /// pairs, it comes first. keys, values [B, N, H, D], queries [B, T, H, D], N = T or T - 1 ->
  /// [B, T, H, D]. This goes pair by pair where what is evicted depends on what was read, otherwise
  /// at once, as many pairs at a time as the bound allows, with matrix products of this precision.
  /// Throws as store() does, and on queries that do not fit, storing nothing.
  at::Tensor store_and_retrieve(const at::Tensor& keys, const at::Tensor& values,
                                const at::Tensor& queries, ops::Precision precision);

  /// Room for one pair more in every row, for an op that writes the pairs and reads all of them in
  /// one pass; like [B, H, D]. count_next() then says that they are written: before that the memory
  /// holds what it held, except for a full memory's pairs that are overwritten. Throws UsageError
  /// on a shape mismatch and where counts_use() says that an eviction depends on what was read.
  ops::PairStorage prepare_next(const at::Tensor& like);
  void count_next();

  const PairOptions& options() const { return options_; }
  /// Rows that it was opened for; 0 before the first use.
  int64_t rows() const { return std::ssize(counts_); }
  /// Throws UsageError unless it is unused or one of these sizes.
  void check_sizes(int64_t rows, int64_t heads, int64_t width) const;
  /// Whether what is evicted depends on how much each pair was read.
  bool counts_use() const { return bound() > 0 && options_.bound.eviction == Eviction::kLeastUsed; }
  /// Pairs held by each row, and pairs ever stored in it.
  const std::vector<int64_t>& counts() const { return counts_; }
  const std::vector<int64_t>& stored() const { return stored_; }
  /// Keys and values [H, N, D] of one row as they are read, oldest first where nothing was evicted.
  /// Throw UsageError on a row that does not exist.
  at::Tensor keys(int64_t row) const { return floats_of(keys_, row); }
  at::Tensor values(int64_t row) const { return floats_of(values_, row); }

  /// Rows of several memories below one another, and a choice of rows (a row may be chosen twice).
  /// Throws UsageError where the memories keep their pairs in different ways, on no memory at all
  /// and on a row that does not exist.
  static StoredPairs stack(const std::vector<const StoredPairs*>& parts);
  StoredPairs select(const std::vector<int64_t>& chosen) const;

  /// Everything it holds under names that start with `prefix`, for a file, and what such a file
  /// gives back for rows of `heads` heads of `width` channels. Throws DataError where the file's
  /// tensors do not fit one another, the options or these sizes.
  NamedTensors tensors(const std::string& prefix) const;
  static StoredPairs from_tensors(const TensorFile& file, const std::string& prefix,
                                  PairOptions options, int64_t heads, int64_t width);

 private:
  int64_t bound() const { return options_.bound.pairs; }
  int64_t capacity() const { return keys_.defined() ? keys_.size(2) : 0; }
  int64_t most_pairs() const;
  bool level() const;  // whether all rows hold the same number of pairs
  /// Whether `pairs` more can be stored in every row without evicting one.
  bool holds(int64_t pairs) const { return bound() == 0 || most_pairs() + pairs <= bound(); }
  void reserve(const at::Tensor& like, int64_t pairs);
  void check_like(const at::Tensor& keys, const at::Tensor& values) const;
  /// Pairs [.., D] in the numbers in which they are stored.
  at::Tensor kept(const at::Tensor& pairs) const;
  /// One row of keys_ or values_ as floats [H, N, D].
  at::Tensor floats_of(const at::Tensor& all, int64_t row) const;
  std::vector<int64_t> next_slots() const;
  void reserve_next(const at::Tensor& like);
  at::Tensor retrieve_sequence(const at::Tensor& queries, ops::Precision precision) const;
  at::Tensor store_and_retrieve_evicting(const at::Tensor& keys, const at::Tensor& values,
                                         const at::Tensor& queries, ops::Precision precision);
  at::Tensor store_and_retrieve_in_turn(const at::Tensor& keys, const at::Tensor& values,
                                        const at::Tensor& queries);

  PairOptions options_;
  int64_t width_ = 0;            // D
  std::vector<int64_t> counts_;  // pairs held, per row
  std::vector<int64_t> stored_;  // pairs ever stored, per row
  at::Tensor keys_, values_;     // [B, H, capacity, D] in numbers of the type (ops/weights.h)
  at::Tensor usage_;             // [B, H, capacity], attention mass; only for kLeastUsed
};

}  // namespace tessera
