#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

/// The score of every token to come next, for each window that ends a context, shortest first:
/// about 1 for a token that was stored once with the window, 0 give or take the memory's noise for
/// others.
class WindowScores {
 public:
  /// lengths: of the k windows, in tokens, ascending; scores [k, V].
  WindowScores(std::vector<int64_t> lengths, int64_t vocabulary, std::vector<float> scores)
      : lengths_(std::move(lengths)), vocabulary_(vocabulary), scores_(std::move(scores)) {}

  /// k, how many window lengths the context was long enough for.
  int64_t windows() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t vocabulary() const { return vocabulary_; }
  /// In tokens, ascending.
  std::span<const int64_t> lengths() const { return lengths_; }
  /// The scores [V] of one window.
  std::span<const float> window(int64_t k) const {
    return std::span(scores_).subspan(static_cast<size_t>(k * vocabulary_),
                                      static_cast<size_t>(vocabulary_));
  }

 private:
  std::vector<int64_t> lengths_;
  int64_t vocabulary_;
  std::vector<float> scores_;
};

}  // namespace tessera
