#include "tessera/train/adamw.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tessera/train/cpu/loops.h"

namespace tessera {
namespace {

using train::cpu::AdamWCoefficients;

constexpr int64_t kBlock = 16384;  // elements; four arrays of it stay in a second-level cache

/// What the loops take: contiguous floats or doubles on the CPU.
bool takes_loops(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.is_contiguous() &&
         (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble);
}

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

double clip_scale(double norm, double clip) {
  return clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1.0;
}

AdamW::AdamW(const NamedTensors& parameters, AdamWConfig config, const DecayRule& decays)
    : config_(config) {
  std::set<const void*> seen;
  for (const auto& [name, value] : parameters) {
    TORCH_CHECK_VALUE(value.defined() && value.is_floating_point(), "AdamW: '", name,
                      "' is not a tensor of floating-point numbers");
    if (!seen.insert(value.unsafeGetTensorImpl()).second) continue;
    const auto type = value.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const auto options = value.options().dtype(type).requires_grad(false);
    parameters_.push_back({name, value, at::zeros(value.sizes(), options),
                           at::zeros(value.sizes(), options), decays(name, value),
                           takes_loops(value)});
    for (int64_t begin = 0; parameters_.back().fused && begin < value.numel(); begin += kBlock)
      blocks_.push_back({parameters_.size() - 1, begin, std::min(begin + kBlock, value.numel())});
  }
}

double AdamW::gradient_norm() const {
  std::vector<at::Tensor> gradients;
  at::Tensor composed;  // of the parameters without loops, on their device: reading waits for it
  for (const auto& parameter : parameters_) {
    const at::Tensor& gradient = parameter.value.grad();
    gradients.push_back(parameter.fused && gradient.defined() ? gradient.contiguous()
                                                              : at::Tensor());
    if (parameter.fused || !gradient.defined()) continue;
    const at::Tensor part = gradient.detach().to(at::kDouble).square().sum();
    composed = composed.defined() ? composed + part : part;
  }
  double sum = composed.defined() ? composed.item<double>() : 0.0;
  const train::cpu::Loops& loops = train::cpu::loops();
  std::vector<double> sums(blocks_.size(), 0.0);
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const auto& [parameter, begin, end] = blocks_[i];
    const at::Tensor& gradient = gradients[parameter];
    if (!gradient.defined()) continue;
    sums[i] = gradient.scalar_type() == at::kFloat
                  ? loops.square_sum_of_floats(end - begin, gradient.data_ptr<float>() + begin)
                  : loops.square_sum_of_doubles(end - begin, gradient.data_ptr<double>() + begin);
  }
  for (double part : sums) sum += part;
  return std::sqrt(sum);
}

std::string AdamW::parameter_with_bad_gradient() const {
  for (const auto& parameter : parameters_) {
    const at::Tensor& gradient = parameter.value.grad();
    if (gradient.defined() && !at::isfinite(gradient).all().item<bool>()) return parameter.name;
  }
  return "";
}

void AdamW::step(double learning_rate, double gradient_scale) {
  at::NoGradGuard no_grad;
  ++steps_;
  const double t = static_cast<double>(steps_);
  const AdamWCoefficients decaying = {1.0 - learning_rate * config_.weight_decay,
                                      learning_rate / (1.0 - std::pow(config_.beta1, t)),
                                      1.0 / std::sqrt(1.0 - std::pow(config_.beta2, t)),
                                      config_.beta1,
                                      config_.beta2,
                                      config_.epsilon,
                                      gradient_scale};
  AdamWCoefficients steady = decaying;
  steady.keep = 1.0;

  std::vector<at::Tensor> gradients;
  for (const auto& [name, value, m, v, decays, fused] : parameters_) {
    const at::Tensor& gradient = value.grad();
    gradients.push_back(fused && gradient.defined() ? gradient.contiguous() : at::Tensor());
    if (!fused && gradient.defined())
      update_composed(decays ? decaying : steady, gradient, value, m, v);
  }
  const train::cpu::Loops& loops = train::cpu::loops();
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const auto& [index, begin, end] = blocks_[i];
    const auto& [name, value, m, v, decays, fused] = parameters_[index];
    if (!gradients[index].defined()) continue;
    const auto& with = decays ? decaying : steady;
    if (value.scalar_type() == at::kFloat)
      loops.update_floats(update_of<float>(with, begin, end, gradients[index], value, m, v));
    else
      loops.update_doubles(update_of<double>(with, begin, end, gradients[index], value, m, v));
  }
}

void AdamW::clear_gradients() {
  for (auto& parameter : parameters_) parameter.value.mutable_grad().reset();
}

NamedTensors AdamW::state() const {
  NamedTensors tensors;
  for (const auto& parameter : parameters_) {
    tensors.emplace_back("adamw.m." + parameter.name, parameter.m);
    tensors.emplace_back("adamw.v." + parameter.name, parameter.v);
  }
  return tensors;
}

}  // namespace tessera
