// Generation token by token: streaming against recomputing the context for each token, and against
// the least that a token can cost, which is reading every weight and every stored pair once. The
// pairs are kept in 32, 16 or 8 bits.
//
//   tessera_bench infer/generation [--benchmark_filter=small|gpt2] (set OMP_NUM_THREADS)
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "bench/support/clocks.h"
#include "bench/support/program.h"
#include "tessera/infer/streaming_session.h"
#include "tessera/model/memory_mosaic.h"
#include "tessera/sampling/sampling.h"

namespace tessera::bench::generation {
namespace {

constexpr int64_t kStepsFromOneContext = 32;  // so that the context hardly grows
constexpr int64_t kMostRecomputed = 4096;     // a longer context takes too long to recompute

MemoryMosaicConfig small() {
  MemoryMosaicConfig config;
  config.vocabulary = 4096;
  config.layers = 4;
  config.heads = 8;
  config.channels = 256;
  return config;
}

MemoryMosaicConfig gpt2_size() {
  MemoryMosaicConfig config;
  config.vocabulary = 50257;
  return config;
}

MemoryMosaic& model_of(const MemoryMosaicConfig& config) {
  static std::map<int64_t, std::unique_ptr<MemoryMosaic>> models;
  auto& model = models[config.channels];
  if (!model) model = std::make_unique<MemoryMosaic>(config);
  return *model;
}

Tokens text_of(int64_t length, int64_t vocabulary) {
  Tokens text;
  for (int64_t t = 0; t < length; ++t) text.push_back((t * t * 31 + 7 * t) % vocabulary);
  return text;
}

template <typename Work>
double best_seconds(int repetitions, Work&& work) {
  double best = INFINITY;
  for (int i = 0; i < repetitions; ++i) best = std::min(best, seconds_of(work));
  return best;
}

/// Seconds in which this machine reads that many bytes, again and again, with all threads.
double reading_seconds(int64_t bytes) {
  const at::Tensor buffer = at::ones({bytes / 4});
  return best_seconds(10, [&] { benchmark::DoNotOptimize(buffer.sum()); });
}

double recomputing_seconds(MemoryMosaic& model, int64_t context) {
  at::NoGradGuard no_grad;
  const at::Tensor window = padded({text_of(context, model.vocabulary())});
  return best_seconds(
      3, [&] { benchmark::DoNotOptimize(model.logits(model.hidden(window).select(1, -1))); });
}

/// The numbers in which pairs are kept, and their bytes with a part of the scale that some share.
struct PairNumbers {
  ops::WeightType type;
  double bytes;
};

PairNumbers numbers_of(int64_t bits) {
  if (bits == 8) return {ops::WeightType::kInt8, 1 + 2.0 / ops::kWeightBlock};
  if (bits == 16) return {ops::WeightType::kBFloat16, 2};
  return {ops::WeightType::kFloat32, 4};
}

/// A session that has read `batch` prompts. The last one is kept: a long one takes minutes to read.
const StreamingSession& after_prompt(MemoryMosaic& model, int64_t context, int64_t batch,
                                     ops::WeightType type) {
  using What = std::tuple<MemoryMosaic*, int64_t, int64_t, ops::WeightType>;
  static std::optional<std::pair<What, StreamingSession>> last;
  const What what = {&model, context, batch, type};
  if (!last || last->first != what) {
    model.keep_pairs_in(type);
    StreamingSession session(model, Reading::kStreaming);
    session.add(std::vector<Tokens>(batch, text_of(context, model.vocabulary())));
    last.emplace(what, std::move(session));
  }
  return last->second;
}

void streaming(benchmark::State& state, const MemoryMosaicConfig& config) {
  const int64_t context = state.range(0), batch = state.range(1);
  const PairNumbers pairs = numbers_of(state.range(2));
  MemoryMosaic& model = model_of(config);
  const StreamingSession& prompted = after_prompt(model, context, batch, pairs.type);
  StreamingSession session = prompted;
  int64_t steps = 0;
  double step_seconds = INFINITY;
  for (auto _ : state) {
    if (steps++ % kStepsFromOneContext == 0) session = prompted;
    const double taken = seconds_of([&] {
      const at::Tensor logits = session.step(Tokens(batch, 1));
      const size_t V = config.vocabulary;
      for (int64_t row = 0; row < batch; ++row)
        benchmark::DoNotOptimize(
            draw_token({logits.data_ptr<float>() + row * V, V}, session.tokens()[row], {}, row));
    });
    state.SetIterationTime(taken);
    step_seconds = std::min(step_seconds, taken);
  }
  const double pair_bytes = pairs.bytes * 2 * config.layers * config.channels * context * batch;
  state.counters["tokens/s"] = batch / step_seconds;
  if (context <= kMostRecomputed)
    state.counters["x_recomputing"] = batch * recomputing_seconds(model, context) / step_seconds;
  state.counters["of_bandwidth"] =
      reading_seconds(4 * model.parameter_count() + static_cast<int64_t>(pair_bytes)) /
      step_seconds;
}

void register_model(const std::string& name, const MemoryMosaicConfig& config,
                    const std::vector<int64_t>& contexts) {
  benchmark::RegisterBenchmark((name + "/streaming").c_str(), streaming, config)
      ->ArgNames({"context", "batch", "bits"})
      ->ArgsProduct({contexts, {1}, {32, 16, 8}})
      ->ArgsProduct({{256}, {8}, {32, 16, 8}})
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

const Program program("infer/generation", [] {
  // LibTorch would take one thread where it cannot tell the cores.
  if (const char* threads = std::getenv("OMP_NUM_THREADS")) at::set_num_threads(std::atoi(threads));
  register_model("small", small(), {256, 2048, 65536});
  register_model("gpt2", gpt2_size(), {256, 2048});
});

}  // namespace
}  // namespace tessera::bench::generation
