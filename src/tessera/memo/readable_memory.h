#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tessera/memo/exact_correlation_memory.h"
#include "tessera/memo/text_memory_config.h"
#include "tessera/memo/window_code.h"

namespace tessera::memo {

/// One of the matrices of a TextMemory: C [d, d] and how many pairs it holds. A matrix that is in a
/// file is loaded when it is first needed. For one thread.
class MemoryShard {
 public:
  /// Holds nothing.
  explicit MemoryShard(int64_t dimension);
  /// Holds `pairs` pairs in the matrix that `load` returns when it is first called for. energy: of
  /// this matrix, if it is known.
  using Load = std::function<ExactCorrelationMemory()>;
  MemoryShard(int64_t pairs, std::optional<double> energy, Load load);

  /// A copy has its own entries.
  MemoryShard(const MemoryShard& other);
  MemoryShard& operator=(const MemoryShard& other);
  MemoryShard(MemoryShard&&) = default;
  MemoryShard& operator=(MemoryShard&&) = default;

  int64_t pairs() const { return pairs_; }
  /// How often it was changed since it was made.
  int64_t edits() const { return edits_; }
  /// Throws what `load` throws.
  const ExactCorrelationMemory& matrix() const;
  /// ExactCorrelationMemory::energy(), computed once after each change.
  double energy() const;

  /// Stores or forgets pairs of `text`.
  void edit(const WindowCode& code, Edit edit, std::span<const int32_t> text,
            std::span<const WindowPair> pairs);
  /// Adds what the other holds.
  void merge(const MemoryShard& other);

 private:
  ExactCorrelationMemory& loaded() const;

  int64_t pairs_ = 0, edits_ = 0;
  Load load_;
  mutable std::optional<ExactCorrelationMemory> matrix_;
  mutable std::optional<double> energy_;
};

/// What readers ask of a memory of texts, wherever its matrices are: in this process (TextMemory)
/// or in several others, whose values are added up.
class ReadableMemory {
 public:
  virtual ~ReadableMemory() = default;

  virtual const WindowCode& code() const = 0;
  const TextMemoryConfig& config() const { return code().config(); }
  /// In tokens, ascending.
  std::span<const int64_t> window_lengths() const { return code().window_lengths(); }
  /// The values [n, d] that the matrices hold for the keys of some windows, still bound: each the
  /// exact sum rounded once to float.
  virtual std::vector<float> retrieve(const WindowQueries& queries) const = 0;
  /// Standard deviation of one window's score for a token that was not stored with it; a token that
  /// was scores 1. The mean over all windows.
  virtual double noise() const = 0;
  /// The same for the windows of one shard.
  virtual double noise(size_t shard) const = 0;

 protected:
  ReadableMemory() = default;
  ReadableMemory(const ReadableMemory&) = default;
  ReadableMemory& operator=(const ReadableMemory&) = default;
};

}  // namespace tessera::memo
