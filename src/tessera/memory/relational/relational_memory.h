#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "tessera/memory/relational/equations.h"

namespace tessera {

/// The parameters of the relational memory R [B, N, D, D] and of its exchange with the item memory
/// (Le et al. 2020, eq. 11-13).
class RelationalMemoryImpl : public torch::nn::Module {
 public:
  RelationalMemoryImpl(const TwoMemoryOptions& options, at::Device device);

  /// eq. 12 is R_t = decay R_{t-1} + gain S_t: (α1, 1) in the code, (1, α1) in the paper, (0, 1)
  /// with RelationalWrite::kReplace. [1] each.
  at::Tensor decay() const;
  at::Tensor gain() const;
  /// Whether decay() is 0 whatever the parameters are.
  bool forgets() const { return options_.equations.relational_write == RelationalWrite::kReplace; }
  /// One step of eq. 12 for anything that is linear in R.
  at::Tensor blend(const at::Tensor& before, const at::Tensor& candidate) const;

  at::Tensor alpha1, alpha2, alpha3;     ///< [1]: a parameter or a constant
  torch::nn::Linear transfer = nullptr;  ///< G1 [D, N D]; none where α3 is a constant 0
  at::Tensor initial;                    ///< R before the first step, [N, D, D]

 private:
  at::Tensor blend_factor(const std::string& name, const BlendFactor& factor, at::Device device);

  TwoMemoryOptions options_;
};
TORCH_MODULE(RelationalMemory);

}  // namespace tessera
