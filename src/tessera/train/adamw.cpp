#include "tessera/train/adamw.h"

#include <ATen/ATen.h>

#include <cmath>

#include "tessera/train/cpu/adamw.h"

namespace tessera {
namespace {

using train::cpu::AdamWCoefficients;

void update_composed(const AdamWCoefficients& with, const at::Tensor& gradient,
                     const at::Tensor& value, const at::Tensor& m, const at::Tensor& v) {
  const at::Tensor g = gradient.to(m.scalar_type()).mul(with.gradient_scale);
  m.mul_(with.beta1).add_(g, 1.0 - with.beta1);
  v.mul_(with.beta2).addcmul_(g, g, 1.0 - with.beta2);
  const at::Tensor root = v.sqrt().mul_(with.root_scale).add_(with.epsilon);
  value.copy_(value.to(m.scalar_type()).mul(with.keep).addcdiv_(m, root, -with.rate));
}

/// Elements [begin, end) of one parameter.
template <typename Scalar>
train::cpu::AdamWUpdate<Scalar> update_of(const AdamWCoefficients& with, int64_t begin, int64_t end,
                                          const at::Tensor& gradient, const at::Tensor& value,
                                          const at::Tensor& m, const at::Tensor& v) {
  return {with,
          end - begin,
          gradient.data_ptr<Scalar>() + begin,
          value.data_ptr<Scalar>() + begin,
          m.data_ptr<Scalar>() + begin,
          v.data_ptr<Scalar>() + begin};
}

}  // namespace

bool decays_by_dimension(const std::string& name, const at::Tensor& parameter) {
  return parameter.dim() >= 2;
}

AdamW::AdamW(const NamedTensors& parameters, AdamWConfig config, const DecayRule& decays)
    : Optimizer(parameters, "adamw.m", "adamw.v"), config_(config) {
  for (const auto& parameter : parameters_)
    decays_.push_back(decays(parameter.name, parameter.value));
}

void AdamW::update(double learning_rate, double gradient_scale) {
  const double t = static_cast<double>(steps_);
  const auto power = [&](double beta) { return config_.bias_correction ? std::pow(beta, t) : 0; };
  const AdamWCoefficients decaying = {1.0 - learning_rate * config_.weight_decay,
                                      learning_rate / (1.0 - power(config_.beta1)),
                                      1.0 / std::sqrt(1.0 - power(config_.beta2)),
                                      config_.beta1,
                                      config_.beta2,
                                      config_.epsilon,
                                      gradient_scale};
  AdamWCoefficients steady = decaying;
  steady.keep = 1.0;

  std::vector<at::Tensor> gradients;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, value, m, v, fused, owner] = parameters_[i];
    const at::Tensor gradient = parameters_[i].own_gradient();
    gradients.push_back(fused && gradient.defined() ? gradient.contiguous() : at::Tensor());
    if (!fused && gradient.defined())
      update_composed(decays_[i] ? decaying : steady, gradient, value, m, v);
  }
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const auto& [index, begin, end] = blocks_[i];
    const auto& [name, value, m, v, fused, owner] = parameters_[index];
    if (!gradients[index].defined()) continue;
    const auto& with = decays_[index] ? decaying : steady;
    if (value.scalar_type() == at::kFloat)
      train::cpu::update_floats(update_of<float>(with, begin, end, gradients[index], value, m, v));
    else
      train::cpu::update_doubles(
          update_of<double>(with, begin, end, gradients[index], value, m, v));
  }
}

}  // namespace tessera
