#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "tessera/memory/relational/equations.h"

namespace tessera {

/// Takes N queries, keys and values from a matrix memory and associates each query with all values
/// (Le et al. 2020, eq. 4-8).
class SelfAttentionImpl : public torch::nn::Module {
 public:
  SelfAttentionImpl(const TwoMemoryOptions& options, at::Device device);

  /// SAM(M + left ⊗ right) as its factors: item M [B, D, D], left and right [B, D]; where left is
  /// undefined, SAM(M).
  ops::Associations forward(const at::Tensor& item, const at::Tensor& left,
                            const at::Tensor& right);

  torch::nn::Linear projection = nullptr;  ///< W [3N, D]: queries, keys, values
  at::Tensor norm_weight, norm_bias;       ///< kColumns [D, 3N]; kRows [3, D];
                                           ///< kColumnsNormedAcross [3N]

 private:
  at::Tensor columns(const at::Tensor& item, const at::Tensor& left, const at::Tensor& right);
  at::Tensor rows(const at::Tensor& item, const at::Tensor& left, const at::Tensor& right);

  TwoMemoryOptions options_;
};
TORCH_MODULE(SelfAttention);

}  // namespace tessera
