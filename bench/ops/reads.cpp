// Forward and backward of the softmax reads, fused (float and bfloat16 products) and as the plain
// tensor formula. One thread; compare CPU times within one run. B = 8 (2 from T = 2048), H = 6,
// D = 64. GFLOP/s counts 2 + 5 matrix products, over visible pairs only.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include "bench/support/peak_memory.h"
#include "bench/support/program.h"
#include "tessera/ops/memory_read.h"

namespace tessera::bench::reads {
namespace {

constexpr int64_t kHeads = 6, kWidth = 64, kSlots = 1344;

int64_t batch(int64_t T) {
  return T >= 2048 ? 2 : 8;
}

at::Tensor input(at::IntArrayRef sizes) {
  return at::randn(sizes).mul_(0.35).requires_grad_(true);
}

template <typename Op>
void measure(benchmark::State& state, double products, Op op) {
  at::set_num_threads(1);
  const at::Tensor upstream = at::randn_like(op());  // also a warm-up
  const bench::PeakMemory memory;
  for (auto _ : state) op().backward(upstream);
  state.counters["peak MiB"] = memory.mebibytes();
  state.counters["GFLOP/s"] = benchmark::Counter(7 * 2 * kWidth * products * 1e-9,
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

double causal_products(int64_t T) {
  return 0.5 * batch(T) * kHeads * T * (T - 1);
}

void smoothing(benchmark::State& state, ops::Precision precision) {
  const int64_t T = state.range(0);
  const at::Tensor keys = input({batch(T), T, kHeads, kWidth});
  const at::Tensor values = input({batch(T), T, kHeads, kWidth});
  measure(state, causal_products(T),
          [&] { return ops::kernel_smoothing(keys, values, {}, precision); });
}

void kernel_smoothing_composed(benchmark::State& state) {
  const int64_t T = state.range(0);
  const at::Tensor keys = input({batch(T), T, kHeads, kWidth});
  const at::Tensor values = input({batch(T), T, kHeads, kWidth});
  const at::Tensor hidden = at::ones({T, T}, at::kBool).triu(0);
  const at::Tensor none = at::ones({T, 1}).masked_fill(at::arange(T).eq(0).unsqueeze(1), 0);
  measure(state, causal_products(T), [&] {
    const at::Tensor k = keys.transpose(1, 2), v = values.transpose(1, 2);
    const at::Tensor scores = at::matmul(k, k.transpose(2, 3));
    const at::Tensor weights = scores.masked_fill(hidden, -1e9).softmax(-1) * none;
    return at::matmul(weights, v).transpose(1, 2);
  });
}

void causal_attention_fused(benchmark::State& state) {
  const int64_t T = state.range(0);
  const at::Tensor q = input({batch(T), T, kHeads, kWidth}),
                   k = input({batch(T), T, kHeads, kWidth});
  const at::Tensor v = input({batch(T), T, kHeads, kWidth});
  measure(state, causal_products(T), [&] { return ops::causal_attention(q, k, v, 0.125); });
}

void slots(benchmark::State& state, ops::Precision precision) {
  const int64_t T = state.range(0);
  const at::Tensor queries = input({batch(T), T, kHeads, kWidth});
  const at::Tensor keys = input({kHeads, kSlots, kWidth}), values = input({kHeads, kSlots, kWidth});
  measure(state, 1.0 * batch(T) * kHeads * T * kSlots,
          [&] { return ops::slot_read(queries, keys, values, {}, precision); });
}

void slot_read_composed(benchmark::State& state) {
  const int64_t T = state.range(0);
  const at::Tensor queries = input({batch(T), T, kHeads, kWidth});
  const at::Tensor keys = input({kHeads, kSlots, kWidth}), values = input({kHeads, kSlots, kWidth});
  measure(state, 1.0 * batch(T) * kHeads * T * kSlots, [&] {
    const at::Tensor scores = at::matmul(queries.transpose(1, 2), keys.transpose(1, 2));
    return at::matmul(scores.softmax(-1), values).transpose(1, 2);
  });
}

/// The matrix product that the fused reads are held against.
void float_matrix_product(benchmark::State& state) {
  at::set_num_threads(1);
  const int64_t n = state.range(0);
  const at::Tensor a = at::randn({n, n}), b = at::randn({n, n});
  for (auto _ : state) benchmark::DoNotOptimize(at::matmul(a, b));
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * n * n * n, benchmark::Counter::kIsIterationInvariantRate);
}

void memory_read_fused(benchmark::State& state) {
  at::set_num_threads(1);
  const int64_t N = state.range(0);
  const at::Tensor query = at::randn({1, kHeads, kWidth});
  const at::Tensor keys = at::randn({1, kHeads, N, kWidth}), values = at::randn_like(keys);
  for (auto _ : state) benchmark::DoNotOptimize(ops::memory_read(query, keys, values).value);
  state.SetBytesProcessed(state.iterations() * 2 * 4 * kHeads * N * kWidth);
}

void over_lengths(benchmark::internal::Benchmark* read) {
  read->RangeMultiplier(2)->Range(256, 2048)->Unit(benchmark::kMillisecond);
}

const Program program("ops/reads", [] {
  using benchmark::RegisterBenchmark;
  using ops::Precision;
  RegisterBenchmark("kernel_smoothing_composed", kernel_smoothing_composed)->Apply(over_lengths);
  RegisterBenchmark("kernel_smoothing_fused", smoothing, Precision::kFloat32)->Apply(over_lengths);
  RegisterBenchmark("kernel_smoothing_bfloat16", smoothing, Precision::kBFloat16)
      ->Apply(over_lengths);
  RegisterBenchmark("causal_attention_fused", causal_attention_fused)->Apply(over_lengths);
  RegisterBenchmark("slot_read_composed", slot_read_composed)->Apply(over_lengths);
  RegisterBenchmark("slot_read_fused", slots, Precision::kFloat32)->Apply(over_lengths);
  RegisterBenchmark("slot_read_bfloat16", slots, Precision::kBFloat16)->Apply(over_lengths);
  RegisterBenchmark("float_matrix_product", float_matrix_product)
      ->Arg(768)
      ->Unit(benchmark::kMillisecond);
  RegisterBenchmark("memory_read_fused", memory_read_fused)
      ->Arg(1024)
      ->Arg(65536)
      ->Unit(benchmark::kMillisecond);
});

}  // namespace
}  // namespace tessera::bench::reads
