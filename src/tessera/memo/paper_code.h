#pragma once

#include "tessera/memo/rounded_normal.h"
#include "tessera/memo/token_table.h"
#include "tessera/memo/window_code.h"

namespace tessera {

/// The code of Zanzotto et al. 2025, sec. 3.2, in the form of the authors' code: windows of h^k
/// tokens at every position, the product as the encoding of a window (alpha = 1: no intermediate
/// memories), all lengths in one C, and keys of h parts, each projected by the W_k that the parts
/// of a length share.
///
/// Differs from the authors' code: on whole numbers, so that forgetting is exact and a key is the
/// same bits on every machine and in any batch; an encoding is scaled by its largest entry, not its
/// length, which the key makes good; token 0 is a token like any other.
class PaperCode final : public WindowCode {
 public:
  explicit PaperCode(const TextMemoryConfig& config);

  void edit(Edit edit, std::span<const int32_t> text, std::span<const WindowPair> pairs,
            ExactCorrelationMemory& memory) const override;
  WindowQueries queries(std::span<const std::span<const int32_t>> contexts) const override;
  std::unique_ptr<WindowStream> stream() const override;
  void score(std::span<const float> values, std::span<float* const> scores) const override;
  float score(std::span<const float> value, int32_t token) const override;
  /// Of tokens that no stored window with a part in common leads to: those score by their parts.
  double noise(const ExactCorrelationMemory& memory) const override;

 private:
  class Stream;

  /// d / h, of a part of a key.
  int64_t part_width() const { return config_.dimension / config_.heads; }
  /// X^1 [tokens, d].
  std::vector<int8_t> token_codes(std::span<const int32_t> tokens) const;
  /// X^{k+1} [count, d]: row n the encoding of the h rows of `codes` X^k from n next_step on,
  /// part_step apart.
  std::vector<int8_t> encode(std::span<const int8_t> codes, int64_t count, int64_t next_step,
                             int64_t part_step) const;
  /// The parts [n, d / h] of keys that the encodings X^k [n, d] make; k from 1.
  std::vector<int8_t> project(std::span<const int8_t> codes, int32_t k) const;
  /// I^k [n, d] of windows of h^k tokens each, end to end.
  std::vector<int8_t> keys_of(std::span<const int32_t> windows, int32_t k) const;
  /// Of a product that was stored once, |I|^2 |e|^2 on average, to 1.
  float scale() const;

  TextMemoryConfig config_;
  std::vector<int64_t> lengths_;
  TokenTable tokens_;  // E [V, d]
  RoundedNormal projection_law_;
  std::vector<int8_t> projections_;  // W_1, ..., W_l, each [d, d / h]
};

}  // namespace tessera
