#include "tessera/plan/planner.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/plan/gaussian_field.h"

namespace tessera::theory {
namespace {

constexpr int64_t kMostSimulated = 4000000;  // inputs
constexpr double kMostSeconds = 20;          // of one core, for all runs of a simulation
constexpr double kUsualSeconds = 2;          // the same where no number of runs was asked for
constexpr double kMostNumbers = 2.5e8;       // of 4 bytes that a run holds
constexpr double kPrecision = 0.03, kMostRuns = 1e5;

/// About how long one core takes for a run (population_errors), whose embeddings are drawn in whole
/// tiles, whose memory is a matrix of d x d or of M x M, and whose scores are compared.
double seconds_of_run(const PlannedLaw& law, int64_t dimension) {
  constexpr double kRun = 1e-5, kNumber = 3e-9, kProduct = 1.6e-11;
  constexpr double kTile = GaussianField::kTileColumns;
  const double N = law.ranked.inputs(), M = law.outputs, d = dimension;
  const double matrix = std::min(d, M), drawn = std::ceil(d / kTile) * kTile;
  return kRun + kNumber * ((N + M) * drawn + N * M) + kProduct * matrix * (d * M + N * (d + M));
}

/// About how many numbers a run holds: the sums of its memory, the embeddings of the outputs, what
/// the two make together, and a block of inputs with their scores.
double numbers_of_run(const PlannedLaw& law, int64_t dimension) {
  constexpr double kFewestRows = 16, kMostRows = 4096;  // of a block
  const double N = law.ranked.inputs(), M = law.outputs, d = dimension;
  return 3 * M * d + std::min(N, kFewestRows) * d + 2 * std::min(N, kMostRows) * M;
}

/// Runs of the plan, if that takes seconds and not too much memory.
std::optional<Spread> simulated(const PlannedLaw& law, const MemoryPlan& plan,
                                std::optional<int64_t> runs, uint64_t seed,
                                const std::stop_token& stop) {
  constexpr int64_t kFewest = 10;
  if (law.ranked.inputs() > kMostSimulated || numbers_of_run(law, plan.dimension) > kMostNumbers)
    return {};
  const double seconds = seconds_of_run(law, plan.dimension);
  if (runs) {
    if (*runs < 1 || seconds * *runs > kMostSeconds) return {};
    return simulate_plan(law.task(), plan, *runs, seed, stop);
  }
  const auto most = static_cast<int64_t>(std::min(kMostRuns, kUsualSeconds / seconds));
  if (most < kFewest) return {};
  return simulate_plan_to(kPrecision, law.task(), plan, most, seed, stop);
}

LawPlan plan_of(const PlannedLaw& law, const MemoryPlan& memory, std::optional<int64_t> runs,
                uint64_t seed, const std::stop_token& stop) {
  return {.law = law.name,
          .inputs = law.ranked.inputs(),
          .outputs = law.outputs,
          .memory = memory,
          .simulated = simulated(law, memory, runs, seed, stop)};
}

int32_t checked_outputs(int64_t outputs) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  check_argument(1 <= outputs && outputs <= kMost, "{} outputs, expected 1 to {}", outputs, kMost);
  return static_cast<int32_t>(outputs);
}

}  // namespace

PlannedLaw planned_zipf_law(int64_t inputs, int64_t outputs, double alpha) {
  const int32_t M = checked_outputs(outputs);
  return {.name = fmt::format("Zipf law, alpha = {:g}", alpha),
          .ranked = RankedLaw::zipf(inputs, alpha),
          .outputs = outputs,
          .summarise =
              [=](const MemoryScheme& scheme) {
                return summarise_zipf_memory(inputs, M, alpha, scheme);
              },
          .task = [=] { return zipf_task(inputs, M, alpha); }};
}

PlannedLaw planned_counts(std::span<const double> counts, int64_t outputs,
                          const std::string& name) {
  const auto task =
      std::make_shared<const AssociationTask>(counted_task(counts, checked_outputs(outputs)));
  return {.name = name,
          .ranked = RankedLaw::counted(counts),
          .outputs = outputs,
          .summarise =
              [task](const MemoryScheme& scheme) {
                return summarise_memory(*task, scheme_weights(scheme, task->law));
              },
          .task = [task] { return *task; }};
}

LawPlan plan_for_error(const PlannedLaw& law, double error, std::optional<int64_t> runs,
                       uint64_t seed, const std::stop_token& stop) {
  return plan_of(law, plan_memory(law.ranked, law.outputs, error), runs, seed, stop);
}

LawPlan plan_in_dimension(const PlannedLaw& law, int64_t dimension, std::optional<int64_t> runs,
                          uint64_t seed, const std::stop_token& stop) {
  const double infinity = std::numeric_limits<double>::infinity();
  return plan_of(law, best_memory(law.ranked, law.outputs, dimension, infinity), runs, seed, stop);
}

void compare_schemes(const PlannedLaw& law, LawPlan& plan, const OnProgress& on_progress) {
  constexpr int64_t kParts = 1000;  // of the work
  constexpr double kPowers[] = {0.1, 0.25, 0.5};
  const int64_t dimension = plan.memory.dimension;
  std::vector<std::pair<std::string, MemoryScheme>> schemes = {
      {"threshold d/8", {.stored = std::clamp<int64_t>(dimension / 8, 1, plan.inputs)}},
      {"by frequency (rho = 1)", {.rho = 1}},
      {"all equally (rho = 0)", {.rho = 0}}};
  for (const double rho : kPowers)
    schemes.push_back({fmt::format("power rho = {:g}", rho), {.rho = rho}});
  std::vector<SchemeError> errors;
  for (const auto& [name, scheme] : schemes) {
    const double before = errors.size();
    const auto tell = [&](int64_t done, int64_t of) {
      const double share =
          (before + static_cast<double>(done) / of) / static_cast<double>(schemes.size());
      if (on_progress) on_progress(std::lround(kParts * share), kParts);
    };
    const double error = predicted_error(law.summarise(scheme), dimension, tell);
    errors.push_back({name, std::min(1.0, plan.memory.unseen_error + error)});
  }
  const auto powers = errors.end() - std::size(kPowers);
  const SchemeError best = *std::ranges::min_element(powers, errors.end(), {}, &SchemeError::error);
  errors.erase(powers, errors.end());
  errors.insert(errors.begin() + 1, best);
  errors.insert(errors.begin(), {"planned threshold", plan.memory.error});
  if (on_progress) on_progress(kParts, kParts);
  plan.schemes = std::move(errors);
  plan.holds.clear();
  for (const double error : {0.001, 0.01, 0.1})
    plan.holds.push_back({error, capacity(plan.outputs, dimension, error)});
}

using config::Json;

Json json_of(const LawPlan& plan) {
  const MemoryPlan& memory = plan.memory;
  Json json = {{"law", plan.law},
               {"inputs", plan.inputs},
               {"outputs", plan.outputs},
               {"samples", std::isinf(memory.samples) ? Json(nullptr) : Json(memory.samples)},
               {"dimension", memory.dimension},
               {"stored", memory.stored},
               {"parameters", memory.dimension * memory.dimension},
               {"predicted_error", memory.error},
               {"unseen_error", memory.unseen_error},
               {"stored_item_error", memory.stored_item_error}};
  if (const auto& runs = plan.simulated)
    json["simulated"] = {{"error", runs->mean},
                         {"standard_error", runs->standard_error()},
                         {"runs", runs->runs},
                         {"predicted_over_simulated",
                          runs->mean > 0 ? Json(memory.error / runs->mean) : Json(nullptr)}};
  for (const SchemeError& scheme : plan.schemes)
    json["schemes"].push_back({{"scheme", scheme.name}, {"predicted_error", scheme.error}});
  for (const HeldItems& held : plan.holds)
    json["holds"].push_back({{"error_per_item", held.error_per_item}, {"items", held.items}});
  return json;
}

}  // namespace tessera::theory
