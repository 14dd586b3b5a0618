#include "lab/learner/babi/relational_inference.h"

#include <ATen/ATen.h>
#include <torch/nn/modules/activation.h>

#include "tessera/memory/make_linear.h"
#include "tessera/ops/layer_norm.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

constexpr int64_t kHops = 3;
constexpr double kHopNormEpsilon = 1e-12;

}  // namespace

RelationalInferenceImpl::RelationalInferenceImpl(const RelationalInferenceOptions& options,
                                                 at::Device device) {
  const auto linear = [&](int64_t in, int64_t out) {
    return make_linear(in, out, /*with_bias=*/true, device);
  };
  const auto mlp = [&](int64_t outputs) {
    return torch::nn::Sequential(linear(options.inputs, options.hidden), torch::nn::Tanh(),
                                 linear(options.hidden, outputs), torch::nn::Tanh());
  };
  entity = register_module("entity", mlp(options.width));
  for (int64_t hop = 0; hop < kHops; ++hop) relations->push_back(mlp(options.slots));
  register_module("relations", relations);
  norm_weight = register_parameter("norm_weight", at::ones({kHops, options.width}, device));
  norm_bias = register_parameter("norm_bias", at::zeros({kHops, options.width}, device));
  answers = register_module(
      "answers", make_linear(options.width, options.answers, /*with_bias=*/false, device));
}

at::Tensor RelationalInferenceImpl::forward(const at::Tensor& questions, const Read& read) {
  check_shape(questions, {-1, -1, entity[0]->as<torch::nn::Linear>()->options.in_features()},
              "RelationalInference: questions");
  at::Tensor found = entity->forward(questions), sum;  // [B, C, D]
  for (int64_t hop = 0; hop < kHops; ++hop) {
    const at::Tensor slots =
        relations[hop]->as<torch::nn::Sequential>()->forward(questions);  // [B, C, N]
    found = ops::layer_norm(read(slots, found), norm_weight[hop], norm_bias[hop], kHopNormEpsilon);
    sum = hop == 0 ? found : sum + found;
  }
  return answers->forward(sum);
}

}  // namespace tessera
