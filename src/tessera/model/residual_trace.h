#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string_view>
#include <vector>

namespace tessera {

/// What stands behind the heads of a block.
enum class BlockUnit { kPersistentMemory, kFeedForward };
constexpr std::array<std::string_view, 2> enum_names(BlockUnit) {
  return {"persistent_memory", "feed_forward"};
}

/// How one block came to what it added to the residual stream at the last position: its memory's
/// (or attention's) heads read the N pairs that are stored by then, and the unit behind them added
/// more.
struct BlockTrace {
  at::Tensor weights;      ///< [B, H, N]: the weight of each pair in each head's reading
  at::Tensor values;       ///< [B, H, N, D]: what is stored
  at::Tensor output;       ///< [C, H * D]: from the heads' readings to the residual stream
  at::Tensor output_bias;  ///< [C] or undefined
  BlockUnit unit;
  at::Tensor unit_output;  ///< [B, C]: what the unit added
};

/// The residual stream at the last position of each of B sequences, as the sum of its parts:
///   embedded + sum over the blocks of (output (sum_i weights_i values_i) + bias + unit_output).
struct ResidualTrace {
  at::Tensor embedded;  ///< [B, C]
  std::vector<BlockTrace> blocks;
  at::Tensor residual;  ///< [B, C]: the sum, before the last norm
};

/// A logit as a linear function of the residual stream. The last norm divides by a deviation that
/// depends on the stream; at the stream for which this was made, logit = direction . stream +
/// offset holds exactly.
struct LogitDirection {
  at::Tensor direction;  ///< [B, C]
  at::Tensor offset;     ///< [B]
};

/// A model whose predictions can be followed back to the stored pairs behind them. No gradients.
class TracedModel {
 public:
  virtual ~TracedModel() = default;

  /// tokens [B, T] int64, T > 0. The pair of position i < T comes i-th; a contextual memory has
  /// stored T - 1 of them by then, attention T. Throws UsageError as LanguageModel::hidden
  /// does.
  virtual ResidualTrace trace(const at::Tensor& tokens) = 0;
  /// For the logit of one token for each residual stream [B, C]; tokens [B] int64.
  virtual LogitDirection logit_direction(const at::Tensor& residual, const at::Tensor& tokens) = 0;
};

}  // namespace tessera
