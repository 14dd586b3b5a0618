#pragma once

#include "tessera/memo/window_code.h"

namespace tessera::memo {

/// The bound code. Differs from Zanzotto et al. 2025: keys are not composed of tokens. A window w
/// has a random key k(w) and a random mask m(w) in {+1, -1}^d; the pair (w, y) is stored as
/// k(w)^T (e_y o m(w)) and read as (k(w) C) o m(w). So windows that share tokens, and frequent
/// tokens, interfere with each other no more than any other pairs do.
///
/// The codes e_y in {+1, -1}^d are Hadamard rows under a random mask for each block of 2^p tokens,
/// where 2^p is the largest power of two that divides d, at most 1024: token b 2^p + j has
/// e_y = mask_b o (row j of the 2^p x 2^p Hadamard matrix, d / 2^p times). Tokens of a block are
/// exactly orthogonal, and the product with the whole vocabulary is a fast Walsh-Hadamard transform
/// for each block.
class BoundCode final : public WindowCode {
 public:
  explicit BoundCode(const TextMemoryConfig& config);

  void edit(Edit edit, std::span<const int32_t> text, std::span<const WindowPair> pairs,
            ExactCorrelationMemory& memory) const override;
  WindowQueries queries(std::span<const std::span<const int32_t>> contexts) const override;
  std::unique_ptr<WindowStream> stream() const override;
  void score(std::span<const float> values, std::span<float* const> scores) const override;
  float score(std::span<const float> value, int32_t token) const override;
  double noise(double energy) const override;
  /// The tokens that were stored with a window disturb each other, because their codes are not all
  /// orthogonal: r of them add r / d times crosstalk_share() to the variance of its scores. The
  /// length of the value, |value| / d^2, has this noise and that of all other windows.
  double noise(std::span<const float> value) const override;
  /// The share of the other tokens whose codes are not orthogonal to a given token's.
  static double crosstalk_share(int64_t dimension, int64_t vocabulary);

 private:
  /// Key and mask of a window, d / 64 words each.
  void draw_signs(std::span<const int32_t> window, uint64_t* key, uint64_t* mask) const;
  /// signs [d / 64] becomes signs o e_y.
  void bind(int32_t token, uint64_t* signs) const;
  /// What scales the product of a pair stored once, |k|^2 |e|^2 = d^2, to 1.
  float scale() const;

  int64_t words_;                      // d / 64
  int64_t block_;                      // 2^p
  std::vector<uint64_t> token_masks_;  // [ceil(V / 2^p), d / 64]
};

}  // namespace tessera::memo
