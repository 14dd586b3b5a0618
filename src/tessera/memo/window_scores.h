#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tessera {

/// The score of every token to come next, for each window that ends a context, shortest first:
/// about 1 for a token that was stored once with the window, 0 give or take the memory's noise for
/// others.
class WindowScores {
 public:
  WindowScores() = default;
  /// lengths: of the k windows, in tokens, ascending; scores [k, V].
  WindowScores(std::vector<int64_t> lengths, int64_t vocabulary, std::vector<float> scores)
      : lengths_(std::move(lengths)), vocabulary_(vocabulary), scores_(std::move(scores)) {}

  /// Makes room for other windows' scores, which are to be written next.
  void reset(std::span<const int64_t> lengths, int64_t vocabulary) {
    lengths_.assign(lengths.begin(), lengths.end());
    vocabulary_ = vocabulary;
    scores_.resize(lengths.size() * static_cast<size_t>(vocabulary));
  }

  /// k, how many window lengths the context was long enough for.
  int64_t windows() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t vocabulary() const { return vocabulary_; }
  /// In tokens, ascending.
  std::span<const int64_t> lengths() const { return lengths_; }
  /// The scores [V] of one window.
  std::span<const float> window(int64_t k) const {
    return {scores_.data() + k * vocabulary_, static_cast<size_t>(vocabulary_)};
  }
  std::span<float> window(int64_t k) {
    return {scores_.data() + k * vocabulary_, static_cast<size_t>(vocabulary_)};
  }

 private:
  std::vector<int64_t> lengths_;
  int64_t vocabulary_ = 0;
  std::vector<float> scores_;
};

}  // namespace tessera
