#pragma once

#include "tessera/memo/detail/token_table.h"
#include "tessera/memo/window_code.h"

namespace tessera::memo {

/// The code of Zanzotto et al. 2025, sec. 3.2, as in the authors' code: windows of h^k tokens at
/// every position, the product as the encoding of a window (alpha = 1: no intermediate memories),
/// one C for all lengths, and keys of h parts, each projected by W_k, which all parts of a length
/// share.
///
/// Differs from the authors' code: it uses whole numbers, so that forgetting is exact and a key has
/// the same bits on every machine and in any batch; an encoding is scaled by its largest entry
/// instead of its length, which the scale of the key corrects; token 0 has no special meaning.
class PaperCode final : public WindowCode {
 public:
  explicit PaperCode(const TextMemoryConfig& config);

  void edit(Edit edit, std::span<const int32_t> text, std::span<const WindowPair> pairs,
            ExactCorrelationMemory& memory) const override;
  WindowQueries queries(std::span<const std::span<const int32_t>> contexts) const override;
  std::unique_ptr<WindowStream> stream() const override;
  void score(std::span<const float> values, std::span<float* const> scores) const override;
  float score(std::span<const float> value, int32_t token) const override;
  /// For tokens that followed no stored window with a part in common; the others score by their
  /// parts.
  double noise(double energy) const override;
  double noise(std::span<const float>) const override { return 0; }

 private:
  class Stream;

  /// d / h, of a part of a key.
  int64_t part_width() const { return config().dimension / config().heads; }
  /// X^1 [tokens, d].
  std::vector<int8_t> token_codes(std::span<const int32_t> tokens) const;
  /// X^{k+1} [count, d]: row n is the encoding of h rows of `codes` X^k, starting at n next_step
  /// and part_step apart.
  std::vector<int8_t> encode(std::span<const int8_t> codes, int64_t count, int64_t next_step,
                             int64_t part_step) const;
  /// The parts [n, d / h] of keys from the encodings X^k [n, d]; k starts at 1.
  std::vector<int8_t> project(std::span<const int8_t> codes, int32_t k) const;
  /// I^k [n, d] of windows of h^k tokens each, end to end.
  std::vector<int8_t> keys_of(std::span<const int32_t> windows, int32_t k) const;
  /// What scales the product of a pair stored once, |I|^2 |e|^2 on average, to 1.
  float scale() const;

  TokenTable tokens_;  // E [V, d]
  RoundedNormal projection_law_;
  std::vector<int8_t> projections_;  // W_1, ..., W_l, each [d, d / h]
};

}  // namespace tessera::memo
