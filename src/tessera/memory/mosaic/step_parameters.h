#pragma once

#include <torch/nn/modules/linear.h>

#include <limits>

#include "tessera/ops/cpu/memory_step.h"

namespace tessera {

/// Parameters as the loops of a step see them; they must be contiguous floats and outlive the step.
/// Nothing is computed of them beforehand, so nothing can go stale when they change.
inline cpu::Projection projection_of(const torch::nn::LinearImpl& linear) {
  return {linear.weight.data_ptr<float>(),
          linear.bias.defined() ? linear.bias.data_ptr<float>() : nullptr};
}
inline cpu::HeadFactor head_factor(const at::Tensor& x, double slope,
                                   double bound = std::numeric_limits<double>::infinity()) {
  return {x.data_ptr<float>(), static_cast<float>(slope), static_cast<float>(bound)};
}

}  // namespace tessera
