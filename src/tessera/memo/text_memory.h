#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/memo/exact_correlation_memory.h"
#include "tessera/memo/text_memory_config.h"
#include "tessera/memo/token_pieces.h"
#include "tessera/memo/window_code.h"

namespace tessera::memo {

/// A memory of texts: one correlation matrix memory that holds, for every position of every
/// document and every window length, which token followed (Zanzotto et al. 2025, sec. 3.2).
///
/// Differs from the paper: each (window, next token) is written once for each document. So what a
/// document adds depends on that document alone, and after forgetting it C has the same bits as if
/// it had never been read. A copy is independent.
class TextMemory {
 public:
  /// An empty memory. Throws what check_config() throws.
  explicit TextMemory(const TextMemoryConfig& config);
  /// One that holds `pairs` pairs in `matrix` [d, d].
  TextMemory(const TextMemoryConfig& config, ExactCorrelationMemory matrix, int64_t pairs);

  /// Stores one document; returns the number of pairs written. Throws std::invalid_argument on
  /// token ids outside the vocabulary; after that, and after whatever `document` throws, the memory
  /// is as before.
  int64_t memorize(const TokenPieces& document);
  /// Removes exactly the pairs that memorize() of the same tokens wrote; returns how many.
  int64_t forget(const TokenPieces& document);
  /// Adds what the other holds. Throws std::invalid_argument on another configuration.
  void merge(const TextMemory& other);

  /// The longest document, in tokens, whose distinct pairs fit in this machine's memory.
  static int64_t most_tokens(const TextMemoryConfig& config);

  const TextMemoryConfig& config() const { return config_; }
  /// In tokens, ascending.
  std::span<const int64_t> window_lengths() const { return lengths_; }
  /// Number of pairs held now.
  int64_t pairs() const { return pairs_; }
  /// Standard deviation of one window's score for a token that was not stored with it; a token that
  /// was scores 1. One pass over C.
  double noise() const { return code_->noise(matrix_); }
  const ExactCorrelationMemory& matrix() const { return matrix_; }
  const WindowCode& code() const { return *code_; }

 private:
  int64_t edit(Edit edit, const TokenPieces& document);

  TextMemoryConfig config_;
  std::vector<int64_t> lengths_;
  std::shared_ptr<const WindowCode> code_;
  ExactCorrelationMemory matrix_;
  int64_t pairs_ = 0;
};

}  // namespace tessera::memo
