#pragma once

#include <ATen/ATen.h>

#include <tuple>
#include <utility>

#include "tessera/model/block_network.h"
#include "tessera/model/residual_trace.h"
#include "tessera/tensor/check.h"

namespace tessera {

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
    const at::Tensor rows =
        this->embedding_.index_select(0, tokens).to(at::kDouble) * this->logit_scale();
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
