#pragma once

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tessera/train/trainer.h"

namespace tessera::test {

/// A network of two matrices [6, 4], [3, 6] and a gain [6], with a buffer: tanh(gain W1 x), W2.
/// Its weights are a function of nothing, so that every process begins alike.
struct TinyNetwork : torch::nn::Module {
  explicit TinyNetwork(int64_t inner = 6);
  /// x [B, 4] -> [B, 3]
  at::Tensor forward(const at::Tensor& x);

  at::Tensor first, second, gain, calls;
};

/// Learns the mean square of TinyNetwork against a fixed target, with inputs and dropout-like noise
/// drawn from (step, micro-batch) and from LibTorch's generator. A test may exchange its parts.
struct TinyLearner : Learner {
  TinyLearner(TinyNetwork& network, const TrainConfig& config);

  torch::nn::Module& module() override { return network; }
  at::Tensor loss(int64_t step, int64_t micro_batch) override { return loss_of(step, micro_batch); }
  Metrics evaluate(const OnBatch&) override { return evaluation(); }
  Metrics test(std::FILE*) override { return test_score(); }
  std::string sample(int64_t step) override { return sample_after(step); }
  config::Json step_events() override;
  void save(const std::filesystem::path& folder) override;
  config::Json configuration() const override;
  config::Json completed(const config::Json& written, const std::string&) const override;
  std::string digest() const override { return names; }
  std::string name() const override { return "tiny"; }
  std::string unit() const override { return "rows"; }
  int64_t units_per_step() const override { return 40; }
  std::vector<ShownMetric> shown() const override { return {{"loss", "loss", 1, 3}}; }

  TinyNetwork& network;
  std::function<at::Tensor(int64_t step, int64_t micro_batch)> loss_of;
  std::function<Metrics()> evaluation, test_score;
  std::function<std::string(int64_t step)> sample_after;
  std::string names = "tiny";  // model and data
};

/// Evaluations that find these losses, one after another.
std::function<Metrics()> evaluations_with(std::vector<double> losses);

/// 12 steps of two micro-batches, with everything that can happen in a training happening.
TrainConfig tiny_config();

/// Changes one bit of a tensor of a checkpoint: only the checksum shows it.
void damage(const std::filesystem::path& checkpoint);

/// All parameters and buffers in one vector.
at::Tensor weights_of(const torch::nn::Module& module);

}  // namespace tessera::test
