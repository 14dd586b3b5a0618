#pragma once

#include <ATen/ATen.h>
#include <torch/nn/module.h>

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

/// The mean square of TinyNetwork against a fixed target, with inputs and dropout-like noise drawn
/// from (step, micro-batch) and from LibTorch's generator.
TrainingTask tiny_task(TinyNetwork& network);

/// 12 steps of two micro-batches, with everything that can happen in a training happening.
TrainConfig tiny_config();

/// All parameters and buffers in one vector.
at::Tensor weights_of(const torch::nn::Module& module);

}  // namespace tessera::test
