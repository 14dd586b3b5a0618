#pragma once

// What the suites of several kinds of models have in common.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/model/model_kind.h"
#include "tessera/model/sequence_model.h"
#include "tessera/tensor/tensor_file.h"
#include "tests/support/shake.h"
#include "tests/support/temporary_folder.h"

namespace tessera::test {

/// The state's tensors, written to a file and read from it.
inline TensorFile through_a_file(const SequenceState& state) {
  const TemporaryFolder folder;
  save_tensors(folder / "state.safetensors", state.tensors());
  return TensorFile::load(folder / "state.safetensors");
}

/// A model of the same kind that begins with the parameters that a file kept of this one.
inline std::shared_ptr<SequenceModel> through_a_file(const SequenceModel& model) {
  const TemporaryFolder folder;
  NamedTensors parameters;
  for (const auto& item : model.named_parameters())
    parameters.emplace_back(item.key(), item.value());
  save_tensors(folder / "model.safetensors", parameters);
  const TensorFile file = TensorFile::load(folder / "model.safetensors");
  const auto loaded = model_kind(model.kind()).make(model.hyper_parameters(), {}, at::kCPU);
  at::NoGradGuard no_grad;
  for (auto& item : loaded->named_parameters())
    item.value().copy_(file.at(item.key(), item.value().sizes().vec()));
  return loaded;
}

/// A block in double whose parameters are all drawn, the same each time.
template <typename Block, typename Config>
Block drawn_block(const Config& config) {
  at::NoGradGuard no_grad;
  at::manual_seed(5);
  Block block(config, at::kCPU);
  block->to(at::kDouble);
  for (auto& parameter : block->parameters()) parameter.normal_(0, 0.5);
  return block;
}

/// A model in double whose parameters are all away from symmetric values, the same each time.
template <typename Model, typename Config>
std::shared_ptr<Model> double_model(const Config& config) {
  const auto model = std::make_shared<Model>(config, 7);
  model->to(at::kDouble);
  at::manual_seed(5);  // of what is drawn next
  shake(*model, 0.2);
  return model;
}

inline void expect_equal_parameters(const torch::nn::Module& actual,
                                    const torch::nn::Module& expected) {
  const auto ours = actual.named_parameters(), theirs = expected.named_parameters();
  ASSERT_EQ(ours.size(), theirs.size());
  for (const auto& item : theirs) EXPECT_TRUE(ours[item.key()].equal(item.value())) << item.key();
}

/// The first loss below `goal` that updates by Adam come to, or the last one of so many.
inline double loss_after_adam(const std::vector<at::Tensor>& parameters,
                              const std::function<at::Tensor()>& loss_of, double goal, int updates,
                              double rate = 0.02, double beta2 = 0.99) {
  std::vector<at::Tensor> first, second;
  for (const at::Tensor& parameter : parameters) {
    first.push_back(at::zeros_like(parameter));
    second.push_back(at::zeros_like(parameter));
  }
  double loss = std::numeric_limits<double>::infinity();
  for (int step = 1; step <= updates && loss >= goal; ++step) {
    const at::Tensor now = loss_of();
    loss = now.item<double>();
    const auto gradients =
        torch::autograd::grad({now}, parameters, {}, false, false, /*allow_unused=*/true);
    at::NoGradGuard no_grad;
    const double correction = std::sqrt(1 - std::pow(beta2, step)) / (1 - std::pow(0.9, step));
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!gradients[i].defined()) continue;
      first[i].mul_(0.9).add_(gradients[i], 0.1);
      second[i].mul_(beta2).addcmul_(gradients[i], gradients[i], 1 - beta2);
      parameters[i].addcdiv_(first[i], second[i].sqrt().add_(1e-8), -rate * correction);
    }
  }
  return loss;
}

}  // namespace tessera::test
