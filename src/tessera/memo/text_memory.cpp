#include "tessera/memo/text_memory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/physical_memory.h"
#include "tessera/memo/window_pairs.h"

namespace tessera::memo {
namespace {

// Tokens that are written at once: at least as many as a window has, or most of a batch would be
// the text before it.
constexpr int64_t kSmallestBatch = 1024, kLargestBatch = 8192;
constexpr int64_t kBytesForPair = 32;  // in WindowPairs, while its table grows

/// A document in batches of `size` tokens, however its pieces are cut; the last may be shorter.
class Batches {
 public:
  Batches(const TokenPieces& document, int64_t size, int64_t vocabulary)
      : document_(document), size_(static_cast<size_t>(size)), vocabulary_(vocabulary) {}

  /// Empty at the end. Valid until the next call.
  std::span<const int32_t> next() {
    batch_.clear();
    while (!ended_ && batch_.size() < size_) {
      if (piece_.empty()) piece_ = document_();
      ended_ = piece_.empty();
      const auto taken = piece_.first(std::min(size_ - batch_.size(), piece_.size()));
      for (const int32_t token : taken)
        check_argument(token >= 0 && token < vocabulary_,
                       "text memory: token {}, expected 0 to {} (vocabulary {})", token,
                       vocabulary_ - 1, vocabulary_);
      batch_.insert(batch_.end(), taken.begin(), taken.end());
      piece_ = piece_.subspan(taken.size());
    }
    return batch_;
  }
  /// Whether the batches so far were all.
  bool ended() const { return ended_; }

 private:
  const TokenPieces& document_;
  size_t size_;
  int64_t vocabulary_;
  std::span<const int32_t> piece_;
  std::vector<int32_t> batch_;
  bool ended_ = false;
};

ExactCorrelationMemory checked(ExactCorrelationMemory matrix, const TextMemoryConfig& config) {
  check_argument(matrix.rows() == config.dimension && matrix.columns() == config.dimension,
                 "text memory: the matrix is {} x {}, the dimension {}; they must be equal",
                 matrix.rows(), matrix.columns(), config.dimension);
  return matrix;
}

}  // namespace

TextMemory::TextMemory(const TextMemoryConfig& config)
    : config_(config),
      lengths_(memo::window_lengths(config)),
      code_(WindowCode::make(config)),
      matrix_(config.dimension, config.dimension) {}

TextMemory::TextMemory(const TextMemoryConfig& config, ExactCorrelationMemory matrix, int64_t pairs)
    : config_(config),
      lengths_(memo::window_lengths(config)),
      code_(WindowCode::make(config)),
      matrix_(checked(std::move(matrix), config)),
      pairs_(pairs) {}

int64_t TextMemory::memorize(const TokenPieces& document) {
  return edit(Edit::kStore, document);
}
int64_t TextMemory::forget(const TokenPieces& document) {
  return edit(Edit::kForget, document);
}

int64_t TextMemory::edit(Edit edit, const TokenPieces& document) {
  Batches batches(document, std::clamp(lengths_.back(), kSmallestBatch, kLargestBatch),
                  config_.vocabulary);
  WindowPairs windows(lengths_, Repeats::kOnce);
  auto batch = batches.next();
  // If a later batch fails, the first ones must not stay.
  std::optional<ExactCorrelationMemory> before;
  if (!batches.ended()) before = matrix_;
  int64_t written = 0;
  try {
    for (; !batch.empty(); batch = batches.next()) {
      const auto pairs = windows.append(batch);
      code_->edit(edit, windows.text(), pairs, matrix_);
      written += static_cast<int64_t>(pairs.size());
    }
  } catch (...) {
    if (before) matrix_ = std::move(*before);
    throw;
  }
  pairs_ += edit == Edit::kStore ? written : -written;
  return written;
}

void TextMemory::merge(const TextMemory& other) {
  check_argument(config_ == other.config_,
                 "text memory: only memories of equal code, dimension, heads, layers, vocabulary "
                 "and seed can be merged");
  matrix_.merge(other.matrix_);
  pairs_ += other.pairs_;
}

int64_t TextMemory::most_tokens(const TextMemoryConfig& config) {
  return physical_memory() / (kBytesForPair * std::max(1, config.layers));
}

}  // namespace tessera::memo
