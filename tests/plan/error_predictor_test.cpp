#include "tessera/plan/error_predictor.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/parallel.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

Spread simulated(const AssociationTask& task, const std::vector<float>& q, int64_t d, int runs) {
  const std::vector<SimulatedMemory> memory = {{q, {d}}};
  return spread_of(
      parallel_runs(runs, [&](int64_t run) { return population_errors(task, memory, run)[0][0]; }));
}

TEST(Predictor, AgreesWithSimulation) {
  struct Case {
    int64_t inputs;
    int32_t outputs;
    double alpha, rho;
    int64_t d;
  };
  for (const Case& c :
       {Case{100, 5, 2, 0, 50}, Case{100, 5, 2, 1, 100}, Case{1000, 5, 1.5, 0.5, 64},
        Case{300, 50, 1, 0, 30}, Case{1000, 1000, 1, 0, 60}}) {
    const AssociationTask task = zipf_task(c.inputs, c.outputs, c.alpha);
    const auto q = scheme_weights({.rho = c.rho}, task.law);
    const Spread simulation = simulated(task, q, c.d, 60);
    const double predicted = predicted_error(summarise_memory(task, q), c.d);
    EXPECT_NEAR(predicted, simulation.mean,
                0.05 * simulation.mean + 3 * simulation.standard_error())
        << c.inputs << " " << c.outputs << " " << c.rho << " " << c.d;
  }
}

TEST(Predictor, EmptyFullAndHopelessMemories) {
  const AssociationTask task = zipf_task(50, 4, 2);
  const auto error = [&](const std::vector<float>& q, int64_t d) {
    return predicted_error(summarise_memory(task, q), d);
  };
  EXPECT_NEAR(error(std::vector<float>(50, 0), 10), 0.75, 1e-9);
  EXPECT_NEAR(error(std::vector<float>(50, 1), 100000), 0.0, 1e-9);
  const std::vector<float> ones(50, 1);
  EXPECT_NEAR(error(ones, 2), simulated(task, ones, 2, 400).mean, 0.05);
  for (const int64_t d : {0, 1}) EXPECT_THROW(error(ones, d), UsageError) << d;
  EXPECT_THROW(summarise_memory(task, std::vector<float>(49, 1)), UsageError);
}

TEST(Predictor, SummaryWithoutTheInputsIsTheSummaryWithThem) {
  for (const MemoryScheme scheme :
       {MemoryScheme{.rho = 1}, MemoryScheme{.rho = 0.4}, MemoryScheme{.rho = 0, .stored = 20000},
        MemoryScheme{.rho = 0, .stored = 50}}) {
    const AssociationTask task = zipf_task(200000, 7, 1.3);
    const double exact =
        predicted_error(summarise_memory(task, scheme_weights(scheme, task.law)), 500);
    const double short_cut = predicted_error(summarise_zipf_memory(200000, 7, 1.3, scheme), 500);
    EXPECT_NEAR(short_cut / exact, 1, 0.002) << scheme.rho << " " << scheme.stored;
  }
  EXPECT_THROW(summarise_zipf_memory(10000, 5, 2, {.stored = 10001}), UsageError);
  EXPECT_THROW(summarise_zipf_memory(100000, 5, 2, {.stored = 100001}), UsageError);
}

}  // namespace
}  // namespace tessera::theory
