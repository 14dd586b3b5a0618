#pragma once

#include "tessera/memory/rounded_normal.h"
#include "tessera/memory/window_code.h"

namespace tessera {

/// The code of Zanzotto et al. 2025, sec. 3.2, in the form of the authors' code: windows of h^k
/// tokens at every position, the product as the encoding of a window (alpha = 1: no intermediate
/// memories), all lengths in one C, and keys of h parts, each projected by the W_k that the parts
/// of a length share.
///
/// Differs from the authors' code: on whole numbers of 8 bits, so that forgetting is exact and a
/// key is the same bits on every machine and in any batch; token 0 is a token like any other.
class PaperCode final : public WindowCode {
 public:
  explicit PaperCode(const TextMemoryConfig& config);

  void edit(Edit edit, std::span<const int32_t> text, std::span<const WindowPair> pairs,
            ExactCorrelationMemory& memory) const override;
  WindowQueries queries(std::span<const int32_t> context) const override;
  void score(const WindowQueries& queries, std::span<const float> retrieved,
             std::span<float> scores) const override;
  double noise(const ExactCorrelationMemory& memory) const override;

 private:
  /// X^k [d]: the encoding of h^(k-1) tokens, at k = 1 the token's own.
  std::vector<int8_t> encode(std::span<const int32_t> tokens, int32_t k) const;
  /// I^k [d], the key of a window of h^k tokens.
  std::vector<int8_t> key(std::span<const int32_t> window, int32_t k) const;

  TextMemoryConfig config_;
  std::vector<int64_t> lengths_;
  RoundedNormal token_law_, projection_law_;
  std::vector<int8_t> tokens_;       // E [V, d]
  std::vector<int8_t> projections_;  // W_1, ..., W_l, each [d, d / h]
};

}  // namespace tessera
