#include "tessera/train/detail/gradients.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <cmath>
#include <optional>
#include <set>

#include "tessera/base/random.h"
#include "tessera/tensor/check.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/processes.h"

namespace tessera {
namespace {

/// Each once, where two names share one tensor, from the last to the first.
std::vector<at::Tensor> in_backward_order(const NamedTensors& parameters) {
  std::vector<at::Tensor> ordered;
  std::set<const void*> seen;
  for (const auto& [name, parameter] : parameters)
    if (seen.insert(parameter.unsafeGetTensorImpl()).second) ordered.push_back(parameter);
  return {ordered.rbegin(), ordered.rend()};
}

}  // namespace

void seed_generator(uint64_t seed, int64_t step, uint64_t draw) {
  at::manual_seed(Philox(seed, step).number(draw));
}

UpdateGradient compute_gradient(Learner& learner, Optimizer& optimizer, int64_t step,
                                Processes* processes) {
  const TrainConfig& config = learner.training();
  const int64_t first = processes ? processes->rank() : 0;
  const int64_t stride = processes ? processes->count() : 1;
  at::Tensor sum;  // of the losses, on their device: reading it waits for the device
  std::future<void> sum_of_processes;
  std::optional<GradientSums> gradient_sums;
  optimizer.clear_gradients();
  for (int64_t micro_batch = first; micro_batch < config.accumulation; micro_batch += stride) {
    seed_generator(config.seed, step, static_cast<uint64_t>(micro_batch));
    const at::Tensor part = learner.loss(step, micro_batch) / config.accumulation;
    TESSERA_CHECK(part.dim() == 0 && part.requires_grad(), "Trainer: the loss has shape ",
                  part.sizes(), ", expected a scalar that depends on the parameters");
    const at::Tensor value = part.detach().to(at::kDouble, false, /*copy=*/true);
    sum = sum.defined() ? sum + value : value;
    if (processes && micro_batch + stride >= config.accumulation) {
      sum_of_processes = processes->start_sum(sum);
      gradient_sums.emplace(*processes, trainable_parameters(learner.module()),
                            config.wire_precision);
    }
    part.backward();
  }
  if (gradient_sums) {
    sum_of_processes.get();
    gradient_sums->wait();
  }
  const double norm = optimizer.gradient_norm();
  double within = norm;  // of the gradient whose numbers are clipped
  if (config.clip_value > 0 && std::isfinite(norm)) {
    optimizer.clip_gradient_values(config.clip_value);
    if (config.clip > 0) within = optimizer.gradient_norm();
  }
  return {sum.item<double>(), norm, clip_scale(within, config.clip)};
}

GradientSums::GradientSums(Processes& processes, const NamedTensors& parameters, WirePrecision wire)
    : processes_(processes), wire_(wire) {
  using torch::autograd::variable_list;
  for (auto& bucket : in_buckets(in_backward_order(parameters)))
    buckets_.push_back({bucket, bucket.size(), {}});
  for (Bucket& bucket : buckets_)
    for (const at::Tensor& parameter : bucket.parameters) {
      const auto accumulator = torch::autograd::impl::grad_accumulator(parameter);
      const auto hook =
          accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
              [this, &bucket](const variable_list& outputs, const variable_list&) {
                on_gradient(bucket);
                return outputs;
              }));
      unhooks_.push_back([accumulator, hook] { accumulator->del_post_hook(hook); });
    }
}

void GradientSums::wait() {
  while (sent_ < buckets_.size()) send(buckets_[sent_++]);
  for (Bucket& bucket : buckets_) bucket.sum.get();
}

void GradientSums::on_gradient(Bucket& bucket) {
  --bucket.missing;
  while (sent_ < buckets_.size() && buckets_[sent_].missing == 0) send(buckets_[sent_++]);
}

void GradientSums::send(Bucket& bucket) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (const at::Tensor& parameter : bucket.parameters)
    parts.push_back(parameter.grad().defined() ? parameter.grad().reshape({-1})
                                               : at::zeros_like(parameter).reshape({-1}));
  const at::Tensor joined = at::cat(parts);
  int64_t offset = 0;  // the gradients lie in the bucket from now on
  for (const at::Tensor& parameter : bucket.parameters) {
    parameter.mutable_grad() = joined.narrow(0, offset, parameter.numel()).view(parameter.sizes());
    offset += parameter.numel();
  }
  bucket.sum = processes_.start_sum(joined, wire_);
}

FlushDenormals::FlushDenormals() {
  std::fegetenv(&before_);
#pragma omp parallel
  at::globalContext().setFlushDenormal(true);
}

FlushDenormals::~FlushDenormals() {
#pragma omp parallel
  std::fesetenv(&before_);
}

}  // namespace tessera
