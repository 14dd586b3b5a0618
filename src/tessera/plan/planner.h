#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/association_task.h"
#include "tessera/plan/error_predictor.h"

namespace tessera::theory {

/// Expected error of reading one of P equally weighted associations in dimension d, of which M
/// outputs have equally many (one more or less): the chance that another of the M correlated scores
/// is the largest. Throws UsageError unless M >= 1.
double stored_item_error(int64_t outputs, double stored, int64_t dimension,
                         RivalScores scores = RivalScores::kCoupled);

/// The largest P for which stored_item_error is at most `error`; 0 if not even one can be read so,
/// more than 2^50 if no limit was found, as with one output.
/// Throws UsageError unless M >= 1, 0 < error < 1 and dimension >= 2.
int64_t capacity(int64_t outputs, int64_t dimension, double error);

/// A memory that keeps the P most frequent of T samples with equal weight (Cabannes et al. 2024,
/// eq. 12 with rho = 0).
struct MemoryPlan {
  double samples = 0;            ///< T; infinity where the law itself is given
  int64_t dimension = 0;         ///< d
  int64_t stored = 0;            ///< P
  double error = 0;              ///< predicted population error
  double unseen_error = 0;       ///< the part of it that comes from inputs T samples do not show
  double stored_item_error = 0;  ///< error of an input that is stored
};

/// Dimensions of a plan: the numbers of its matrix are counted in 64 bits.
constexpr int64_t kMostDimension = 1'000'000'000;

/// The P that errs least in dimension d after T samples, with f(x) = rank mod M. The predicted
/// error counts which outputs get more places than others and which get none (drawn_error) where P
/// is at most 8 M, beyond which it hardly matters. It is within 3 % of simulation, and up to 6 %
/// too high where only three or four inputs are not sure of their place, as with alpha = 3. Throws
/// UsageError unless M >= 1 and 2 <= dimension <= kMostDimension.
MemoryPlan best_memory(const RankedLaw& law, int64_t outputs, int64_t dimension, double samples);

/// The smallest T whose unseen inputs take at most 0.4 of the error, then the smallest d whose best
/// P keeps the whole error within it. Throws UsageError unless M >= 1 and 0 < error < 1, and where
/// more than 2^60 samples or 10^7 dimensions would be needed.
MemoryPlan plan_memory(const RankedLaw& law, int64_t outputs, double error);

/// What the plan gives when it is simulated: error of `runs` independent draws of samples and
/// embeddings; seeds share none. The error of a run is its expectation over which of the inputs
/// that are stored alike has which embedding: the same mean with far less spread than
/// population_errors. Cost about inputs * dimension * runs random numbers. Throws Interrupted once
/// it is asked to stop.
Spread simulate_plan(const AssociationTask& task, const MemoryPlan& plan, int64_t runs,
                     uint64_t seed, const std::stop_token& stop = {});

/// The same with as many runs as bring the standard error below `precision` times the mean, at
/// least 100 and at most `most_runs` of them.
Spread simulate_plan_to(double precision, const AssociationTask& task, const MemoryPlan& plan,
                        int64_t most_runs, uint64_t seed, const std::stop_token& stop = {});

/// A law of inputs with balanced outputs, as a plan needs it.
struct PlannedLaw {
  std::string name;
  RankedLaw ranked;
  int64_t outputs = 0;  ///< M
  std::function<MemorySummary(const MemoryScheme&)> summarise;
  std::function<AssociationTask()> task;  ///< for simulation
};

/// p(x) proportional to x^-alpha over `inputs` inputs. Throws as zipf_task does.
PlannedLaw planned_zipf_law(int64_t inputs, int64_t outputs, double alpha);
/// From counts in any order. Throws as counted_task does.
PlannedLaw planned_counts(std::span<const double> counts, int64_t outputs, const std::string& name);

/// Predicted error of one of the schemes (10)-(12).
struct SchemeError {
  std::string name;
  double error = 0;
};

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
      {};  ///< error of simulated runs; none if they would take too long or too much memory
  std::vector<SchemeError> schemes = {};  ///< predicted error of each scheme in this dimension
  std::vector<HeldItems> holds = {};      ///< what this dimension holds, stored with equal weight
};

/// The size that keeps the error at most `error` (plan_memory). runs: simulated runs, 0 for none;
/// nullopt: as many as a standard error of 3 % of the mean needs. Throws as plan_memory does, and
/// Interrupted once the simulation is asked to stop.
LawPlan plan_for_error(const PlannedLaw& law, double error, std::optional<int64_t> runs,
                       uint64_t seed, const std::stop_token& stop = {});
/// The best use of a given dimension for the law itself, without a sample (best_memory).
LawPlan plan_in_dimension(const PlannedLaw& law, int64_t dimension, std::optional<int64_t> runs,
                          uint64_t seed, const std::stop_token& stop = {});

/// Predicts what the plan's dimension holds, and the errors of the paper's schemes there beside the
/// planned threshold: the d/8 most frequent; the best of the powers 0.1, 0.25, 0.5 without
/// threshold; by frequency; all equally. After T samples the inputs not seen are added to each
/// (Proposition 4), which is never too little. on_progress: thousandths of the work. Ends with what
/// it throws.
void compare_schemes(const PlannedLaw& law, LawPlan& plan, const OnProgress& on_progress = {});

/// What `tessera plan --json` and `POST /v1/plan` say of a plan. "samples" is null where the law is
/// known without any; "simulated" is absent where nothing was simulated, "schemes" and "holds"
/// where nothing was compared.
config::Json json_of(const LawPlan& plan);

}  // namespace tessera::theory
