#include "tessera/train/detail/rmsprop.h"

#include <ATen/ATen.h>

namespace tessera {

Rmsprop::Rmsprop(const NamedTensors& parameters, RmspropConfig config)
    : Optimizer(parameters, "rmsprop.v", "rmsprop.b"), config_(config) {}

void Rmsprop::update(double learning_rate, double gradient_scale) {
  for (const Parameter& parameter : parameters_) {
    const at::Tensor gradient = parameter.own_gradient();
    if (!gradient.defined()) continue;
    const auto& [name, value, v, b, fused, owner] = parameter;
    const at::Tensor g = gradient.to(v.scalar_type()).mul(gradient_scale);
    v.mul_(config_.smoothing).addcmul_(g, g, 1.0 - config_.smoothing);
    b.mul_(config_.momentum).addcdiv_(g, v.sqrt().add_(config_.epsilon));
    value.sub_(b.to(value.scalar_type()), learning_rate);
  }
}

}  // namespace tessera
