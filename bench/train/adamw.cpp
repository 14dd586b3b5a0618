// AdamW over 10 million parameters in the shapes of a small language model: the fused loops against
// torch::optim::AdamW, with clipping in both (OMP_NUM_THREADS: of both).

#include "bench/support/program.h"
#include "tessera/train/optimizer.h"

#include <torch/types.h>  // before clip_grad.h, which relies on it

#include <ATen/ATen.h>
#include <benchmark/benchmark.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>

namespace tessera::bench::adamw {
namespace {

tessera::NamedTensors parameters() {
  tessera::NamedTensors tensors;
  const auto add = [&](at::IntArrayRef sizes) {
    const at::Tensor tensor = at::randn(sizes).requires_grad_(true);
    tensor.mutable_grad() = at::randn(sizes);
    tensors.emplace_back(std::to_string(tensors.size()), tensor);
  };
  add({4096, 384});
  for (int layer = 0; layer < 5; ++layer) {
    for (int matrix = 0; matrix < 4; ++matrix) add({384, 384});
    add({1536, 384});
    add({384, 1536});
    add({384});
    add({384});
  }
  return tensors;
}

void fused(benchmark::State& state) {
  const auto tensors = parameters();
  tessera::AdamW optimizer(tensors, {});
  for (auto _ : state) optimizer.step(1e-3, tessera::clip_scale(optimizer.gradient_norm(), 1.0));
}

void torch_optim(benchmark::State& state) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : parameters()) tensors.push_back(tensor);
  torch::optim::AdamW optimizer(tensors, torch::optim::AdamWOptions(1e-3).weight_decay(0.1));
  for (auto _ : state) {
    torch::nn::utils::clip_grad_norm_(tensors, 1.0);
    optimizer.step();
  }
}

const Program program("train/adamw", [] {
  for (const auto& [name, step] :
       {std::pair("fused", &fused), std::pair("torch_optim", &torch_optim)})
    benchmark::RegisterBenchmark(name, step)->Unit(benchmark::kMillisecond);
});

}  // namespace
}  // namespace tessera::bench::adamw
