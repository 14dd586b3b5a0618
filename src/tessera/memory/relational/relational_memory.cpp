#include "tessera/memory/relational/relational_memory.h"

#include <ATen/ATen.h>

#include "tessera/memory/make_linear.h"

namespace tessera {

RelationalMemoryImpl::RelationalMemoryImpl(const TwoMemoryOptions& options, at::Device device)
    : options_(options) {
  const int64_t N = options.slots, D = options.width;
  alpha1 = blend_factor("alpha1", options.alpha1, device);
  alpha2 = blend_factor("alpha2", options.alpha2, device);
  alpha3 = blend_factor("alpha3", options.alpha3, device);
  if (!options.alpha3.absent())
    transfer = register_module("transfer", make_linear(N * D, D, /*with_bias=*/true, device));
  initial = register_parameter("initial", at::zeros({N, D, D}, device));
}

at::Tensor RelationalMemoryImpl::blend_factor(const std::string& name, const BlendFactor& factor,
                                              at::Device device) {
  const at::Tensor value = at::full({1}, factor.value, at::TensorOptions(device).dtype(at::kFloat));
  return factor.learned ? register_parameter(name, value) : register_buffer(name, value);
}

at::Tensor RelationalMemoryImpl::decay() const {
  switch (options_.equations.relational_write) {
    case RelationalWrite::kDecay:
      return alpha1;
    case RelationalWrite::kAdd:
      return at::ones_like(alpha1);
    default:
      return at::zeros_like(alpha1);
  }
}

at::Tensor RelationalMemoryImpl::gain() const {
  return options_.equations.relational_write == RelationalWrite::kAdd ? alpha1
                                                                      : at::ones_like(alpha1);
}

at::Tensor RelationalMemoryImpl::blend(const at::Tensor& before,
                                       const at::Tensor& candidate) const {
  if (forgets()) return candidate;
  return options_.equations.relational_write == RelationalWrite::kDecay
             ? at::addcmul(candidate, before, alpha1)
             : at::addcmul(before, candidate, alpha1);
}

}  // namespace tessera
