#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/memo/exact_correlation_memory.h"
#include "tessera/memo/text_memory_config.h"
#include "tessera/memo/window_code.h"

namespace tessera {

/// A memory of texts: one correlation matrix memory that holds, for every position of every
/// document and every window length, which token followed (Zanzotto et al. 2025, sec. 3.2).
///
/// Differs from the paper: each (window, next token) is written once a document. So what a document
/// adds depends on that document alone, and forgetting it leaves C as if it had never been read,
/// bit for bit. A copy is a memory of its own.
class TextMemory {
 public:
  /// An empty memory. Throws std::invalid_argument on a configuration that makes no sense.
  explicit TextMemory(const TextMemoryConfig& config);
  /// One that holds `pairs` pairs in `matrix` [d, d].
  TextMemory(const TextMemoryConfig& config, ExactCorrelationMemory matrix, int64_t pairs);

  /// One document, handed over piece by piece (an empty piece ends it). Token ids outside the
  /// vocabulary throw std::invalid_argument; that, and whatever `Pieces` throws, leaves the memory
  /// as it was.
  using Pieces = std::function<std::span<const int32_t>()>;
  /// Returns the pairs written.
  int64_t memorize(const Pieces& document);
  /// Takes away exactly the pairs that memorize() of the same tokens wrote; returns how many.
  int64_t forget(const Pieces& document);
  /// Holds afterwards what both held. Throws std::invalid_argument on another configuration.
  void merge(const TextMemory& other);

  /// The longest document, in tokens, whose distinct pairs this machine's memory can hold.
  static int64_t most_tokens(const TextMemoryConfig& config);

  const TextMemoryConfig& config() const { return config_; }
  /// In tokens, ascending.
  std::span<const int64_t> window_lengths() const { return lengths_; }
  /// Held now.
  int64_t pairs() const { return pairs_; }
  /// Standard deviation of one window's score for a token that was not stored with it, where one
  /// that was scores 1. One pass over C.
  double noise() const { return code_->noise(matrix_); }
  const ExactCorrelationMemory& matrix() const { return matrix_; }
  const WindowCode& code() const { return *code_; }

 private:
  int64_t edit(Edit edit, const Pieces& document);

  TextMemoryConfig config_;
  std::vector<int64_t> lengths_;
  std::shared_ptr<const WindowCode> code_;
  ExactCorrelationMemory matrix_;
  int64_t pairs_ = 0;
};

}  // namespace tessera
