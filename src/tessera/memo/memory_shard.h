#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "tessera/memo/exact_correlation_memory.h"
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

}  // namespace tessera::memo
