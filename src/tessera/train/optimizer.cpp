#include "tessera/train/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tessera/base/consecutive.h"
#include "tessera/tensor/check.h"
#include "tessera/train/cpu/adamw.h"
#include "tessera/train/processes.h"

namespace tessera {
namespace {

constexpr int64_t kBlock = 16384;  // elements; four arrays of it stay in a second-level cache

/// What the loops take: contiguous floats on the CPU.
bool takes_loops(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.is_contiguous() && tensor.scalar_type() == at::kFloat;
}

/// Of what an optimiser keeps of a parameter.
at::TensorOptions state_options(const at::Tensor& value) {
  return value.options()
      .dtype(value.scalar_type() == at::kDouble ? at::kDouble : at::kFloat)
      .requires_grad(false);
}

}  // namespace

bool is_optimizer_state(std::string_view name) {
  return name.starts_with("adamw.") || name.starts_with("rmsprop.");
}

double clip_scale(double norm, double clip) {
  return clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1.0;
}

Optimizer::Optimizer(const NamedTensors& parameters, std::string first, std::string second)
    : first_(std::move(first)), second_(std::move(second)) {
  std::set<const void*> seen;
  for (const auto& [name, value] : parameters) {
    TESSERA_CHECK(value.defined() && value.is_floating_point(), "Optimizer: '", name,
                  "' is not a tensor of floating-point numbers");
    if (!seen.insert(value.unsafeGetTensorImpl()).second) continue;
    const auto options = state_options(value);
    parameters_.push_back({name, value, at::zeros(value.sizes(), options),
                           at::zeros(value.sizes(), options), takes_loops(value)});
    for (int64_t begin = 0; parameters_.back().fused && begin < value.numel(); begin += kBlock)
      blocks_.push_back({parameters_.size() - 1, begin, std::min(begin + kBlock, value.numel())});
  }
}

double Optimizer::gradient_norm() const {
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
  std::vector<double> sums(blocks_.size(), 0.0);
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const auto& [parameter, begin, end] = blocks_[i];
    const at::Tensor& gradient = gradients[parameter];
    if (!gradient.defined()) continue;
    optimizer::cpu::sum_squares({end - begin, gradient.data_ptr<float>() + begin, &sums[i]});
  }
  for (double part : sums) sum += part;
  return std::sqrt(sum);
}

std::string Optimizer::parameter_with_bad_gradient() const {
  for (const auto& parameter : parameters_) {
    const at::Tensor& gradient = parameter.value.grad();
    if (gradient.defined() && !at::isfinite(gradient).all().item<bool>()) return parameter.name;
  }
  return "";
}

void Optimizer::clip_gradient_values(double limit) {
  at::NoGradGuard no_grad;
  for (const auto& parameter : parameters_)
    if (auto& gradient = parameter.value.mutable_grad(); gradient.defined())
      gradient.clamp_(-limit, limit);
}

void Optimizer::step(double learning_rate, double gradient_scale) {
  at::NoGradGuard no_grad;
  ++steps_;
  update(learning_rate, gradient_scale);
  if (processes_) send_shares();
}

void Optimizer::clear_gradients() {
  for (auto& parameter : parameters_) parameter.value.mutable_grad().reset();
}

NamedTensors Optimizer::state() const {
  NamedTensors tensors;
  for (const auto& parameter : parameters_) {
    at::Tensor first = parameter.first, second = parameter.second;
    if (processes_) {
      if (processes_->leads() && !first.defined()) {
        first = at::empty(parameter.value.sizes(), state_options(parameter.value));
        second = at::empty_like(first);
      }
      processes_->copy_to_leader(parameter.owner, {first, second});
    }
    tensors.emplace_back(first_ + "." + parameter.name, first);
    tensors.emplace_back(second_ + "." + parameter.name, second);
  }
  return tensors;
}

void Optimizer::share(Processes& processes) {
  std::vector<size_t> longest_first = consecutive<size_t>(parameters_.size());
  std::stable_sort(longest_first.begin(), longest_first.end(), [&](size_t a, size_t b) {
    return parameters_[a].value.numel() > parameters_[b].value.numel();
  });
  std::vector<int64_t> numbers(processes.count(), 0);  // of each process
  for (const size_t i : longest_first) {
    Parameter& parameter = parameters_[i];
    const auto fewest = std::min_element(numbers.begin(), numbers.end());
    *fewest += parameter.value.numel();
    parameter.owner = fewest - numbers.begin();
    if (parameter.owner != processes.rank()) parameter.first = parameter.second = at::Tensor();
  }
  processes_ = &processes;
}

void Optimizer::send_shares() {
  for (int64_t owner = 0; owner < processes_->count(); ++owner) {
    std::vector<at::Tensor> values;
    for (const Parameter& parameter : parameters_)
      if (parameter.owner == owner) values.push_back(parameter.value);
    processes_->copy_from(owner, values);
  }
}

namespace {

using optimizer::cpu::AdamWCoefficients;

void update_composed(const AdamWCoefficients& with, const at::Tensor& gradient,
                     const at::Tensor& value, const at::Tensor& m, const at::Tensor& v) {
  const at::Tensor g = gradient.to(m.scalar_type()).mul(with.gradient_scale);
  m.mul_(with.beta1).add_(g, 1.0 - with.beta1);
  v.mul_(with.beta2).addcmul_(g, g, 1.0 - with.beta2);
  const at::Tensor root = v.sqrt().mul_(with.root_scale).add_(with.epsilon);
  value.copy_(value.to(m.scalar_type()).mul(with.keep).addcdiv_(m, root, -with.rate));
}

}  // namespace

AdamW::AdamW(const NamedTensors& parameters, AdamWConfig config)
    : Optimizer(parameters, "adamw.m", "adamw.v"), config_(config) {}

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
  const auto coefficients_of = [&](const at::Tensor& value) -> const AdamWCoefficients& {
    return value.dim() >= 2 ? decaying : steady;
  };

  std::vector<at::Tensor> gradients;
  for (const Parameter& parameter : parameters_) {
    const auto& [name, value, m, v, fused, owner] = parameter;
    const at::Tensor gradient = parameter.own_gradient();
    gradients.push_back(fused && gradient.defined() ? gradient.contiguous() : at::Tensor());
    if (!fused && gradient.defined())
      update_composed(coefficients_of(value), gradient, value, m, v);
  }
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const auto& [index, begin, end] = blocks_[i];
    const auto& [name, value, m, v, fused, owner] = parameters_[index];
    if (!gradients[index].defined()) continue;
    optimizer::cpu::update({coefficients_of(value), end - begin,
                            gradients[index].data_ptr<float>() + begin,
                            value.data_ptr<float>() + begin, m.data_ptr<float>() + begin,
                            v.data_ptr<float>() + begin});
  }
}

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
