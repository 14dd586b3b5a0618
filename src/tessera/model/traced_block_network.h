#pragma once

#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/model/block_network.h"
#include "tessera/tensor/check.h"

namespace tessera {

/// What stands behind the heads of a block.
enum class BlockUnit { kPersistentMemory, kFeedForward };
constexpr std::array<std::string_view, 2> enum_names(BlockUnit) {
  return {"persistent_memory", "feed_forward"};
}

/// Which of a block's memories heads read: the only one there is, or a tier of several.
enum class MemoryTier { kOnly, kShortTerm, kLongTerm };
constexpr std::array<std::string_view, 3> enum_names(MemoryTier) {
  return {"only", "short_term", "long_term"};
}

/// How the heads of a memory (or of attention) read N stored values at the last position, and what
/// that added to the residual stream: output (sum_i weights_i values_i) + bias.
struct TracedReading {
  at::Tensor weights;      ///< [B, H, N]: of each value in each head's reading
  at::Tensor values;       ///< [B, H, N, D]: what is stored
  at::Tensor output;       ///< [C, H * D]
  at::Tensor output_bias;  ///< [C] or undefined
  MemoryTier tier = MemoryTier::kOnly;
  int64_t first_pair = 0;  ///< position at which the first of the values was stored
};

/// How one block came to what it added to the residual stream at the last position: its heads read
/// the pairs that are stored by then, those of each tier for themselves, and the unit behind them
/// added more.
struct BlockTrace {
  std::vector<TracedReading> pairs;
  BlockUnit unit;
  at::Tensor unit_output;              ///< [B, C]: what the unit added
  std::optional<TracedReading> slots;  ///< how the unit came to it, if it reads learned slots
};

/// The residual stream at the last position of each of B sequences, as the sum of its parts:
///   embedded + sum over the blocks of (what reading the pairs added + unit_output).
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

  /// tokens [B, T] int64, T > 0. The pair of position i < T comes i-th after the first; a
  /// contextual memory has stored T - 1 of them by then, attention T. Throws UsageError as
  /// LanguageModel::hidden does.
  virtual ResidualTrace trace(const at::Tensor& tokens) = 0;
  /// For the logit of one token for each residual stream [B, C]; tokens [B] int64.
  virtual LogitDirection logit_direction(const at::Tensor& residual, const at::Tensor& tokens) = 0;
};

/// A language model of blocks that read stored pairs by weights: a Block also has trace(x), which
/// is forward(x) without dropout or gradient, and how the last position was read.
template <typename Config, typename Block>
class TracedBlockNetwork : public BlockNetwork<Config, Block>, public TracedModel {
 public:
  ResidualTrace trace(const at::Tensor& tokens) override {
    at::NoGradGuard no_grad;
    TESSERA_CHECK(tokens.dim() == 2 && tokens.size(1) > 0,
                  "trace: expected tokens [B, T] with T > 0, found ", tokens.sizes());
    at::Tensor x = this->embed(this->placed_tokens(tokens), {}, {});  // [B, T, C]
    const int64_t last = x.size(1) - 1;
    ResidualTrace trace;
    trace.embedded = x.select(1, last);
    for (int64_t layer = 0; layer < this->config_.layers; ++layer) {
      BlockTrace read;
      std::tie(x, read) = this->block(layer)->trace(x);
      trace.blocks.push_back(std::move(read));
    }
    trace.residual = x.select(1, last);
    return trace;
  }

  LogitDirection logit_direction(const at::Tensor& residual, const at::Tensor& tokens) override {
    at::NoGradGuard no_grad;
    const at::Tensor stream = residual.to(at::kDouble);
    const at::Tensor rows =  // [B, C]
        this->embedding_rows(tokens.to(residual.device()), stream.size(1)).to(at::kDouble) *
        this->logit_scale();
    const at::Tensor gained = rows * this->norm_->weight.to(at::kDouble);  // [B, C]
    const at::Tensor deviation =
        (stream.var(1, /*unbiased=*/false, /*keepdim=*/true) + NormImpl::kEpsilon)
            .sqrt();  // [B, 1]
    return {(gained - gained.mean(1, /*keepdim=*/true)) / deviation,
            this->norm_->bias.defined() ? rows.mv(this->norm_->bias.to(at::kDouble))
                                        : at::zeros({rows.size(0)}, rows.options())};
  }

 protected:
  using BlockNetwork<Config, Block>::BlockNetwork;
};

}  // namespace tessera
