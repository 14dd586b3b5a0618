#include "tessera/train/detail/gradient_sums.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <set>

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

GradientSums::~GradientSums() {
  for (const auto& unhook : unhooks_) unhook();
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

}  // namespace tessera
