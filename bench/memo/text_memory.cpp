// Memorising and recalling tokens with the authors' equations in float (LibTorch and its BLAS),
// with the paper code and with the bound code: h = 4, l = 3, V = 50257, uniform random tokens.
// Rates by the wall's clock and by the CPU's; compare within one run:
//   OMP_NUM_THREADS=1 … --benchmark_repetitions=3 --benchmark_enable_random_interleaving=true
// "of peak": products against the most of the same kind that one core can do; "of bandwidth": bytes
// that one token must read (C, with the paper code E and W) against what one core reads from
// memory, all by the CPU's clock. What stays in the caches may be read faster than that.

#include "tessera/memo/text_memory.h"
#include "bench/support/program.h"

#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <map>
#include <span>
#include <vector>

#include "bench/memo/authors_memo.h"
#include "bench/support/clocks.h"
#include "bench/support/machine_peaks.h"
#include "tessera/base/random.h"
#include "tessera/memo/text_reader.h"

namespace tessera::bench::text_memory {
namespace {

using namespace tessera::memo;

constexpr int64_t kHeads = 4, kLayers = 3, kWindow = 64, kVocabulary = 50257;
constexpr int64_t kRow = 1024;  // tokens of a row of the authors' code

std::vector<int32_t> random_tokens(int64_t count) {
  RandomStream random(1);
  std::vector<int32_t> tokens(count);
  for (auto& token : tokens) token = static_cast<int32_t>(random.below(kVocabulary));
  return tokens;
}

TextMemoryConfig config(WindowCodeKind code, int64_t d) {
  return {.code = code,
          .dimension = d,
          .heads = kHeads,
          .layers = kLayers,
          .vocabulary = kVocabulary,
          .seed = 1};
}

/// Runs `step` as the benchmark's iterations, `tokens` each; returns tokens a second of the CPU.
template <typename Step>
double measure(benchmark::State& state, int64_t tokens, const Step& step) {
  const double cpu = bench::cpu_seconds();
  const double seconds = bench::seconds_of([&] {
    for (auto _ : state) step();
  });
  const double done = static_cast<double>(state.iterations() * tokens);
  const double rate = done / (bench::cpu_seconds() - cpu);
  state.counters["tok/s"] = done / seconds;
  state.counters["tok/cpu-s"] = rate;
  return rate;
}

bench::AuthorsMemo& authors(int64_t d) {
  static std::map<int64_t, bench::AuthorsMemo> memories;
  while (!memories.empty() && !memories.contains(d)) memories.clear();
  return memories.try_emplace(d, d, kHeads, kLayers, kVocabulary).first->second;
}

TextMemory& loaded(WindowCodeKind code, int64_t d) {
  static std::map<std::pair<WindowCodeKind, int64_t>, TextMemory> memories;
  const auto [place, fresh] = memories.try_emplace({code, d}, config(code, d));
  if (fresh) place->second.memorize(one_piece(random_tokens(4096)));
  return place->second;
}

void memorize_authors(benchmark::State& state) {
  bench::AuthorsMemo& memory = authors(state.range(0));
  const at::Tensor rows = at::randint(kVocabulary, {1, kRow + 1}, at::kLong);
  measure(state, kRow, [&] { memory.memorize(rows); });
}

/// Multiplications of one token: the outer products, and for the paper code the keys' parts.
double products(WindowCodeKind code, double d) {
  return kLayers * d * d + (code == WindowCodeKind::kPaper ? kLayers * d * d / kHeads : 0);
}

void memorize_text(benchmark::State& state, WindowCodeKind code) {
  static const double sign_peak = bench::sign_product_peak(),
                      byte_peak = bench::byte_product_peak();
  TextMemory memory(config(code, state.range(0)));
  const auto text = random_tokens(8 * kRow);
  const double rate = measure(state, std::ssize(text), [&] { memory.memorize(one_piece(text)); });
  const double peak = code == WindowCodeKind::kBound ? sign_peak : byte_peak;
  if (peak > 0)
    state.counters["of peak"] = rate * products(code, static_cast<double>(state.range(0))) / peak;
}

void recall_authors(benchmark::State& state) {
  const bench::AuthorsMemo& memory = authors(state.range(0));
  const int64_t batch = state.range(1);
  const at::Tensor chunks = at::randint(kVocabulary, {batch, kWindow}, at::kLong);
  measure(state, batch, [&] { benchmark::DoNotOptimize(memory.recall(chunks)); });
}

/// Bytes that one token reads: C, and for the paper code E and W.
int64_t bytes_read(WindowCodeKind code, int64_t d) {
  return 4 * d * d +
         (code == WindowCodeKind::kPaper ? kVocabulary * d / 2 + kLayers * d * d / kHeads : 0);
}

void recall_stream(benchmark::State& state, WindowCodeKind code) {
  TextMemory& memory = loaded(code, state.range(0));
  const auto text = random_tokens(4096);
  const double noise = memory.noise();
  TextReader reader(memory);
  for (size_t i = 0; i < kWindow; ++i) reader.append(text[i]);
  size_t next = kWindow;
  const double rate = measure(state, 1, [&] {
    // As a store reads: the bound code's decoder wants each window's scores.
    benchmark::DoNotOptimize(code == WindowCodeKind::kPaper ? reader.recall(noise)
                                                            : by_score(reader.scores(), noise));
    reader.append(text[next++ % text.size()]);
  });
  static const double bandwidth = bench::read_bandwidth();
  state.counters["of bandwidth"] =
      rate * static_cast<double>(bytes_read(code, state.range(0))) / bandwidth;
}

void recall_batch(benchmark::State& state, WindowCodeKind code) {
  TextMemory& memory = loaded(code, state.range(0));
  const int64_t batch = state.range(1);
  const auto text = random_tokens(4096);
  std::vector<std::span<const int32_t>> contexts;
  for (int64_t i = 0; i < batch; ++i) contexts.push_back(std::span(text).subspan(13 * i, kWindow));
  measure(state, batch, [&] { benchmark::DoNotOptimize(recall_contexts(memory, contexts)); });
}

void recall_text(benchmark::State& state, WindowCodeKind code) {
  state.range(1) == 1 ? recall_stream(state, code) : recall_batch(state, code);
}

double largest(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

void of_size(benchmark::internal::Benchmark* memorize) {
  memorize->ArgName("d")->Arg(1024)->Arg(2048)->Arg(4096);
  memorize->Unit(benchmark::kMillisecond)->UseRealTime()->ComputeStatistics("best", largest);
}

void of_size_and_batch(benchmark::internal::Benchmark* recall) {
  recall->ArgNames({"d", "batch"})->ArgsProduct({{1024, 2048, 4096}, {1, 256}});
  recall->Unit(benchmark::kMillisecond)->UseRealTime()->ComputeStatistics("best", largest);
}

const Program program("memo/text_memory", [] {
  using benchmark::RegisterBenchmark;
  RegisterBenchmark("memorize_authors", memorize_authors)->Apply(of_size);
  RegisterBenchmark("memorize_paper", memorize_text, WindowCodeKind::kPaper)->Apply(of_size);
  RegisterBenchmark("memorize_bound", memorize_text, WindowCodeKind::kBound)->Apply(of_size);
  RegisterBenchmark("recall_authors", recall_authors)->Apply(of_size_and_batch);
  RegisterBenchmark("recall_paper", recall_text, WindowCodeKind::kPaper)->Apply(of_size_and_batch);
  RegisterBenchmark("recall_bound", recall_text, WindowCodeKind::kBound)->Apply(of_size_and_batch);
});

}  // namespace
}  // namespace tessera::bench::text_memory
