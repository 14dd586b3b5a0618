// Forward and backward of the leaky average, fused and as the dense [T, T] matrix of decays that
// the published implementation multiplies with. One thread; compare CPU times within one run.
// B = 8 (2 from T = 2048), H = 6, D = 64.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include "bench/support/peak_memory.h"
#include "bench/support/program.h"
#include "tessera/ops/key_value_extraction.h"

namespace tessera::bench::averages {
namespace {

constexpr int64_t kHeads = 6, kWidth = 64;

template <typename Op>
void measure(benchmark::State& state, Op op) {
  at::set_num_threads(1);
  const int64_t T = state.range(0), B = T >= 2048 ? 2 : 8;
  const at::Tensor x = at::randn({B, T, kHeads, kWidth}).requires_grad_(true);
  const at::Tensor decay = at::linspace(0.1, 0.7, kHeads).requires_grad_(true);
  const at::Tensor upstream = at::randn(x.sizes());
  op(x, decay).backward(upstream);
  const bench::PeakMemory memory;
  for (auto _ : state) op(x, decay).backward(upstream);
  state.counters["peak MiB"] = memory.mebibytes();
  state.SetBytesProcessed(state.iterations() * 5 * 4 * x.numel());
}

void leaky_average_fused(benchmark::State& state) {
  measure(state, [](const at::Tensor& x, const at::Tensor& decay) {
    return ops::leaky_average(x, decay);
  });
}

void leaky_average_dense(benchmark::State& state) {
  const int64_t T = state.range(0);
  const at::Tensor times = at::arange(T, at::kFloat);
  const at::Tensor lags = (times.unsqueeze(1) - times).clamp_min(0);
  measure(state, [&](const at::Tensor& x, const at::Tensor& decay) {
    const at::Tensor matrix = decay.view({-1, 1, 1}).pow(lags).tril();  // [H, T, T]
    return at::matmul(matrix, x.transpose(1, 2)).transpose(1, 2);
  });
}

const Program program("ops/averages", [] {
  for (const auto& [name, average] : {std::pair("leaky_average_dense", &leaky_average_dense),
                                      std::pair("leaky_average_fused", &leaky_average_fused)})
    benchmark::RegisterBenchmark(name, average)
        ->RangeMultiplier(2)
        ->Range(256, 2048)
        ->Unit(benchmark::kMillisecond);
});

}  // namespace
}  // namespace tessera::bench::averages
