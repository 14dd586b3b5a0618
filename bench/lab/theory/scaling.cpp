// The error of a memory by class aggregation beside forming W, and descent on scores beside descent
// on W.

#include <benchmark/benchmark.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "bench/support/program.h"
#include "lab/theory/associative_model.h"
#include "lab/theory/score_descent.h"
#include "tessera/plan/association_task.h"
#include "tessera/plan/blas.h"
#include "tessera/plan/population_error.h"

namespace tessera::bench::scaling {
namespace {

using namespace tessera::theory;

constexpr int64_t kInputs = 1000;
constexpr int32_t kOutputs = 5;

/// Equations (2) and (4) as they stand: W = sum of q u e^T, then u_y^T W e_x.
void error_by_forming_w(benchmark::State& state) {
  const int64_t d = state.range(0);
  const AssociationTask task = zipf_task(kInputs, kOutputs, 2);
  const auto q = scheme_weights({.rho = 1}, task.law);
  const auto model = random_model(task, d, OutputScale::kUnit, 1);
  const SerialBlas one_thread;
  std::vector<float> values(kInputs * d), w(d * d), read(kInputs * d), scores(kInputs * kOutputs);
  for (auto _ : state) {
    for (int64_t x = 0; x < kInputs; ++x)
      for (int64_t j = 0; j < d; ++j)
        values[x * d + j] = q[x] * model.outputs[task.output[x] * d + j];
    transposed_multiply(d, d, kInputs, values.data(), d, model.inputs.data(), d, 0, w.data(), d);
    multiply_transposed(kInputs, d, d, model.inputs.data(), d, w.data(), d, 0, read.data(), d);
    multiply_transposed(kInputs, kOutputs, d, read.data(), d, model.outputs.data(), d, 0,
                        scores.data(), kOutputs);
    benchmark::DoNotOptimize(population_error_of_scores(task, scores));
  }
}
void error_by_class_aggregation(benchmark::State& state) {
  const int64_t d = state.range(0);
  const AssociationTask task = zipf_task(kInputs, kOutputs, 2);
  const auto q = scheme_weights({.rho = 1}, task.law);
  const auto model = random_model(task, d, OutputScale::kUnit, 1);
  const SerialBlas one_thread;
  for (auto _ : state)
    benchmark::DoNotOptimize(population_error(task, q, model.inputs, model.outputs, d));
}
/// One sample a step: v = W e, softmax of U v, W += gamma (U^T residual) e^T.
void descent_on_w(benchmark::State& state) {
  const int64_t d = state.range(0);
  const AssociationTask task = zipf_task(100, kOutputs, 2);
  auto model = random_model(task, d, OutputScale::kUnit, 1);
  const SerialBlas one_thread;
  std::vector<float> v(d), change(d);
  float p[kOutputs];
  int32_t x = 0;
  for (auto _ : state) {
    const float* e = model.inputs.data() + x * d;
    multiply_transposed(1, d, d, e, d, model.memory.data(), d, 0, v.data(), d);
    multiply_transposed(1, kOutputs, d, v.data(), d, model.outputs.data(), d, 0, p, kOutputs);
    float total = 0;
    for (float& logit : p) total += logit = std::exp(logit);
    for (int32_t y = 0; y < kOutputs; ++y) p[y] = (y == task.output[x]) - p[y] / total;
    multiply(1, d, kOutputs, p, kOutputs, model.outputs.data(), d, 0, change.data(), d);
    multiply(d, d, 1, change.data(), 1, e, d, 1, model.memory.data(), d);
    x = (x + 7) % 100;
  }
}
void descent_on_scores(benchmark::State& state) {
  const AssociationTask task = zipf_task(100, kOutputs, 2);
  ScoreDescent descent(task, random_model(task, state.range(0), OutputScale::kUnit, 1));
  int32_t x = 0;
  for (auto _ : state) {
    descent.step(x, 1.0);
    x = (x + 7) % 100;
  }
}

const Program program("lab/theory/scaling", [] {
  for (const auto& [name, measure, unit] :
       {std::tuple("error_by_forming_w", &error_by_forming_w, benchmark::kMillisecond),
        std::tuple("error_by_class_aggregation", &error_by_class_aggregation,
                   benchmark::kMillisecond),
        std::tuple("descent_on_w", &descent_on_w, benchmark::kMicrosecond),
        std::tuple("descent_on_scores", &descent_on_scores, benchmark::kMicrosecond)})
    benchmark::RegisterBenchmark(name, measure)->Arg(100)->Arg(1000)->Unit(unit);
});

}  // namespace
}  // namespace tessera::bench::scaling
