#include "tessera/memory/relational/relational_memory.h"

#include <ATen/ATen.h>

namespace tessera {

RelationalMemoryImpl::RelationalMemoryImpl(const TwoMemoryOptions& options) : options_(options) {
  const int64_t N = options.slots, D = options.width;
  alpha1 = blend_factor("alpha1", options.alpha1);
  alpha2 = blend_factor("alpha2", options.alpha2);
  alpha3 = blend_factor("alpha3", options.alpha3);
  transfer = register_module("transfer", torch::nn::Linear(N * D, D));
  initial = register_parameter("initial", at::zeros({N, D, D}));
}

at::Tensor RelationalMemoryImpl::blend_factor(const std::string& name, const BlendFactor& factor) {
  const at::Tensor value = at::full({1}, factor.value, at::kFloat);
  return factor.learned ? register_parameter(name, value) : register_buffer(name, value);
}

at::Tensor RelationalMemoryImpl::decay() const {
  return options_.equations.relational_write == RelationalWrite::kDecay ? alpha1
                                                                        : at::ones_like(alpha1);
}

at::Tensor RelationalMemoryImpl::gain() const {
  return options_.equations.relational_write == RelationalWrite::kDecay ? at::ones_like(alpha1)
                                                                        : alpha1;
}

at::Tensor RelationalMemoryImpl::blend(const at::Tensor& before,
                                       const at::Tensor& candidate) const {
  return options_.equations.relational_write == RelationalWrite::kDecay
             ? at::addcmul(candidate, before, alpha1)
             : at::addcmul(before, candidate, alpha1);
}

}  // namespace tessera
