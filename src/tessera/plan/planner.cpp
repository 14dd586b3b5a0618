#include "tessera/plan/planner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/random.h"
#include "tessera/base/smallest.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/detail/drawn_error.h"
#include "tessera/plan/parallel.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

constexpr int64_t kWidest = 10000000;
constexpr int64_t kMostSamples = int64_t{1} << 60;
constexpr double kUnseenShare = 0.4;   // of the allowed error
constexpr double kUnevenPlaces = 8;    // of an output; with more of them their number hardly varies
constexpr int64_t kMostDrawn = 16384;  // inputs stored that drawn_error follows one by one
constexpr uint64_t kSampleStream = 2;

void check_error(double error, const char* function) {
  check_argument(error > 0 && error < 1,
                 "{}: an error of {} is asked for; it must lie between 0 and 1", function, error);
}

void check_outputs(int64_t outputs) {
  check_argument(outputs >= 1, "{} outputs; at least one is needed", outputs);
}

/// The energies of P equally weighted associations that M outputs share evenly.
MemorySummary balanced_memory(double outputs, double stored) {
  MemorySummary memory;
  const double each = std::floor(stored / outputs), fuller = stored - each * outputs;
  for (const auto& [count, energy] :
       {OutputGroup{fuller, each + 1}, OutputGroup{outputs - fuller, each}}) {
    if (count <= 0) continue;
    if (energy > 0)
      memory.inputs.push_back({.mass = count * energy / stored,
                               .weight = 1,
                               .class_energy = energy - 1,
                               .output_group = static_cast<int32_t>(memory.outputs.size())});
    memory.outputs.push_back({count, energy});
  }
  return memory;
}

}  // namespace

double stored_item_error(int64_t outputs, double stored, int64_t dimension, RivalScores scores) {
  check_outputs(outputs);
  if (stored <= 0) return 1 - 1.0 / outputs;
  // Without the parallel loop of predicted_error: a plan calls this some hundred times.
  const MemorySummary memory = balanced_memory(outputs, stored);
  double error = 0;
  for (const InputGroup& input : memory.inputs)
    error += input.mass * (1 - predicted_recall(memory, input, dimension, scores));
  return error;
}

int64_t capacity(int64_t outputs, int64_t dimension, double error) {
  check_error(error, "capacity");
  check_argument(dimension >= 2, "capacity: dimension {}; at least 2 is needed", dimension);
  // Independent scores, which cost least, find the place; coupled ones go on from there.
  const auto exceeds_with = [&](RivalScores scores) {
    return [&, scores](int64_t stored) {
      return stored_item_error(outputs, stored, dimension, scores) > error;
    };
  };
  const auto exceeds_about = exceeds_with(RivalScores::kIndependent);
  const auto exceeds = exceeds_with(RivalScores::kCoupled);
  constexpr int64_t kUnlimited = int64_t{1} << 50;
  const auto about = smallest_up_to(1, 2 * kUnlimited, exceeds_about);
  if (!about) return 2 * kUnlimited;
  int64_t low = *about - 1, high = *about;
  for (int64_t step = 1; low > 0 && exceeds(low); step *= 2)
    low = std::max<int64_t>(0, std::exchange(high, low) - step);
  for (int64_t step = 1; !exceeds(high); step *= 2) {
    if (high > kUnlimited) return high;
    low = std::exchange(high, high + step);
  }
  return smallest(low, high, exceeds) - 1;
}

namespace {

/// Writes the errors of a plan's P: of balanced outputs, an input that is not stored guessed.
void predict_balanced(MemoryPlan& plan, const StoredMass& masses, int64_t outputs,
                      RivalScores scores) {
  plan.stored_item_error = stored_item_error(outputs, plan.stored, plan.dimension, scores);
  const double mass = masses.of(plan.stored), guessed = 1 - 1.0 / outputs;
  plan.error = mass * plan.stored_item_error + (1 - mass) * guessed;
}

/// The same of the outputs as the samples fill them, which drawn_error predicts from independent
/// scores; what coupled ones change, they change as in balanced outputs.
void predict_drawn(MemoryPlan& plan, const StoredMass& masses, int64_t outputs) {
  const double stored = plan.stored;
  const DrawnError drawn = drawn_error(masses.chances(plan.stored), outputs, plan.dimension);
  const double independent =
      stored_item_error(outputs, stored, plan.dimension, RivalScores::kIndependent);
  const double coupled = stored_item_error(outputs, stored, plan.dimension, RivalScores::kCoupled);
  plan.stored_item_error =
      independent > 0 ? std::min(1.0, drawn.stored * coupled / independent) : drawn.stored;
  const double mass = masses.of(plan.stored);
  plan.error = mass * plan.stored_item_error + (1 - mass) * drawn.not_stored;
}

MemoryPlan best_memory_with(const StoredMass& masses, const RankedLaw& law, int64_t outputs,
                            int64_t dimension, double samples) {
  const auto plan_with = [&](int64_t stored) {
    MemoryPlan plan{.samples = samples, .dimension = dimension, .stored = stored};
    predict_balanced(plan, masses, outputs, RivalScores::kIndependent);
    return plan;
  };
  // The error falls, then rises with P: a coarse walk, then a finer one around the least. Near the
  // least it hardly depends on P, so balanced outputs and independent scores find the place.
  MemoryPlan best = plan_with(1);
  const auto walk = [&](double from, double to, double factor) {
    int64_t previous = 0;
    for (double stored = from; stored <= to; stored *= factor) {
      const int64_t P = std::llround(stored);
      if (P == previous || P < 1 || P > law.inputs()) continue;
      previous = P;
      const MemoryPlan plan = plan_with(P);
      if (plan.error < best.error) best = plan;
    }
  };
  const double limit = law.inputs();
  walk(1, limit, 1.3);
  const MemoryPlan all = plan_with(law.inputs());
  if (all.error < best.error) best = all;
  const double centre = best.stored;
  walk(centre / 1.3, std::min(limit, centre * 1.3), 1.02);

  const double places = 1.0 * best.stored / outputs;
  if (places <= kUnevenPlaces && best.stored <= kMostDrawn)
    predict_drawn(best, masses, outputs);
  else
    predict_balanced(best, masses, outputs, RivalScores::kCoupled);
  if (!std::isinf(samples)) best.unseen_error = law.unseen_mass(samples) * (1 - 1.0 / outputs);
  return best;
}

}  // namespace

MemoryPlan best_memory(const RankedLaw& law, int64_t outputs, int64_t dimension, double samples) {
  check_argument(dimension >= 2 && dimension <= kMostDimension,
                 "best_memory: dimension {}, expected 2 to {}", dimension, kMostDimension);
  check_outputs(outputs);
  return best_memory_with(StoredMass(law, samples), law, outputs, dimension, samples);
}

MemoryPlan plan_memory(const RankedLaw& law, int64_t outputs, double error) {
  check_error(error, "plan_memory");
  check_outputs(outputs);
  const double guessed = 1 - 1.0 / outputs;
  const auto enough_samples = [&](int64_t samples) {
    return guessed * law.unseen_mass(samples) <= kUnseenShare * error;
  };
  const auto enough = smallest_up_to(1, kMostSamples, enough_samples);
  if (!enough)
    throw UsageError("an error of {} needs more than {} samples of {} inputs; allow a larger error",
                     error, kMostSamples, law.inputs());
  const double samples = *enough;

  const StoredMass masses(law, samples);
  const auto best_in = [&](int64_t dimension) {
    return best_memory_with(masses, law, outputs, dimension, samples);
  };
  const auto dimension =
      smallest_up_to(2, kWidest, [&](int64_t wide) { return best_in(wide).error <= error; });
  if (!dimension)
    throw UsageError(
        "an error of {} needs more than {} dimensions for {} inputs; allow a larger error, or "
        "learn the embeddings",
        error, kWidest, law.inputs());
  return best_in(*dimension);
}

namespace {

/// Errors of the runs first, …, first + count - 1.
std::vector<double> simulated_runs(const AssociationTask& task, const MemoryPlan& plan,
                                   int64_t first, int64_t count, uint64_t seed,
                                   const std::stop_token& stop) {
  const MemoryScheme scheme{.rho = 0, .stored = plan.stored};
  const auto error_of_run = [&](int64_t run) {
    const uint64_t own_seed = run_seed(seed, first + run);
    RandomStream random(own_seed, kSampleStream);
    const auto weights =
        std::isinf(plan.samples)
            ? scheme_weights(scheme, task.law)
            : scheme_weights(scheme,
                             sample_counts(task.law, static_cast<int64_t>(plan.samples), random));
    const std::vector<SimulatedMemory> memory = {{weights, {plan.dimension}}};
    return population_errors(with_shared_mass(task, weights), memory, own_seed, stop)[0][0];
  };
  return parallel_runs(count, error_of_run, stop);
}

}  // namespace

Spread simulate_plan(const AssociationTask& task, const MemoryPlan& plan, int64_t runs,
                     uint64_t seed, const std::stop_token& stop) {
  return spread_of(simulated_runs(task, plan, 0, runs, seed, stop));
}

Spread simulate_plan_to(double precision, const AssociationTask& task, const MemoryPlan& plan,
                        int64_t most_runs, uint64_t seed, const std::stop_token& stop) {
  constexpr int64_t kFewest = 100;
  std::vector<double> errors;
  for (;;) {
    const int64_t done = std::ssize(errors);
    const int64_t more = std::min(std::max(kFewest, done / 2), most_runs - done);
    const auto batch = simulated_runs(task, plan, done, more, seed, stop);
    errors.insert(errors.end(), batch.begin(), batch.end());
    const Spread spread = spread_of(errors);
    if (spread.runs >= most_runs ||
        (spread.mean > 0 && spread.standard_error() <= precision * spread.mean))
      return spread;
  }
}

}  // namespace tessera::theory
