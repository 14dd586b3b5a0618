#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/plan/association_task.h"
#include "tessera/plan/error_predictor.h"
#include "tessera/plan/planner.h"

namespace tessera::theory {

/// A law of inputs with balanced outputs, as a plan needs it.
struct PlannedLaw {
  std::string name;
  RankedLaw ranked;
  int64_t outputs = 0;           ///< M
  double unthresholded_rho = 0;  ///< the power of the scheme without threshold
  std::function<MemorySummary(const MemoryScheme&)> summarise;
  std::function<AssociationTask()> task;  ///< for simulation
};

/// p(x) proportional to x^-alpha over `inputs` inputs. Throws as zipf_task and OutputLaw do.
PlannedLaw planned_zipf_law(int64_t inputs, int64_t outputs, double alpha);
/// From counts in any order. Throws as counted_task and OutputLaw do.
PlannedLaw planned_counts(std::span<const double> counts, int64_t outputs, const std::string& name);

/// How many associations a memory holds at one error of each.
struct HeldItems {
  double error_per_item = 0;
  int64_t items = 0;
};

/// A memory planned for a law, and, once compare_schemes() was called, what to compare it with.
struct LawPlan {
  std::string law;
  int64_t inputs = 0, outputs = 0;
  MemoryPlan memory;
  std::optional<Spread> simulated =
      {};  ///< error of simulated runs; none if they would take too long
  std::vector<SchemeError> schemes = {};  ///< predicted error of each scheme in this dimension
  std::vector<HeldItems> holds = {};      ///< what this dimension holds, stored with equal weight
};

/// The size that keeps the error at most `error` (plan_memory). runs: simulated runs, 0 for none;
/// nullopt: as many as a standard error of 3 % of the mean needs. Throws as plan_memory does.
LawPlan plan_for_error(const PlannedLaw& law, double error, std::optional<int64_t> runs,
                       uint64_t seed);
/// The best use of a given dimension for the law itself, without a sample (best_memory).
LawPlan plan_in_dimension(const PlannedLaw& law, int64_t dimension, std::optional<int64_t> runs,
                          uint64_t seed);

/// Predicts the errors of other schemes in the plan's dimension, and what that dimension holds.
void compare_schemes(const PlannedLaw& law, LawPlan& plan);

/// What `tessera plan --json` and `POST /v1/plan` say of a plan. "samples" is null where the law is
/// known without any; "simulated" is absent where nothing was simulated, "schemes" and "holds"
/// where nothing was compared.
config::Json json_of(const LawPlan& plan);

}  // namespace tessera::theory
