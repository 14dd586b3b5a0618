// The whole-number loops of correlation matrix memories against what one core can do: rates by the
// CPU's clock. Run with OMP_NUM_THREADS=1.

#include "bench/support/program.h"
#include "tessera/memo/detail/outer_products.h"

#include <benchmark/benchmark.h>

#include <vector>

#include "bench/support/clocks.h"
#include "bench/support/machine_peaks.h"

namespace tessera::bench::correlation {
namespace {

using namespace tessera::memo;

constexpr int64_t kPairs = 3072;  // as a batch of 1024 tokens has

/// Calls `step` as the benchmark's iterations; `work` a call, per second of the CPU, against
/// `peak`.
template <typename Step>
void measure(benchmark::State& state, double work, double peak, const Step& step) {
  const double start = bench::cpu_seconds();
  for (auto _ : state) step();
  const double rate =
      work * static_cast<double>(state.iterations()) / (bench::cpu_seconds() - start);
  state.counters["G/s"] = rate * 1e-9;
  if (peak > 0) state.counters["of peak"] = rate / peak;
}

std::vector<int8_t> numbers(int64_t count, int limit) {
  std::vector<int8_t> result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(static_cast<int8_t>(i * 7919 % (2 * limit + 1) - limit));
  return result;
}

void add_sign_pairs(benchmark::State& state) {
  static const double peak = bench::sign_product_peak();
  const int64_t d = state.range(0);
  const std::vector<uint64_t> words(kPairs * d / 64, 0x5bd1e995a3c4f917);
  std::vector<int32_t> entries(d * d);
  measure(state, static_cast<double>(kPairs * d * d), peak, [&] {
    add_outer_products(SignRows{words, d}, SignRows{words, d}, 1, entries.data());
  });
}

void add_byte_pairs(benchmark::State& state) {
  static const double peak = bench::byte_product_peak();
  const int64_t d = state.range(0);
  const auto keys = numbers(kPairs * d, 127), values = numbers(kPairs * d, 7);
  std::vector<int32_t> entries(d * d);
  measure(state, static_cast<double>(kPairs * d * d), peak,
          [&] { add_outer_products(keys, values, d, d, 1, entries.data()); });
}

/// Bytes of C, where few queries are passes over it and many are products of its digits.
void read(benchmark::State& state) {
  const int64_t d = state.range(0), queries = state.range(1);
  const auto keys = numbers(queries * d, 127);
  const std::vector<int32_t> entries(d * d, 1234567);
  std::vector<float> values(queries * d);
  static const double bandwidth = bench::read_bandwidth();
  measure(state, static_cast<double>(4 * d * d), bandwidth,
          [&] { read_outer_products(keys, entries.data(), d, d, values.data()); });
}

const Program program("memo/correlation", [] {
  for (const auto& [name, add] :
       {std::pair("add_sign_pairs", &add_sign_pairs), std::pair("add_byte_pairs", &add_byte_pairs)})
    benchmark::RegisterBenchmark(name, add)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("read", read)
      ->ArgNames({"d", "queries"})
      ->ArgsProduct({{1024, 4096}, {1, 3, 8, 9, 768}})
      ->Unit(benchmark::kMillisecond);
});

}  // namespace
}  // namespace tessera::bench::correlation
