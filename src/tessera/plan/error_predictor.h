#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/interrupt.h"
#include "tessera/plan/association_task.h"

namespace tessera::theory {

/// Inputs that a memory treats alike.
struct InputGroup {
  double mass = 0;          ///< their total probability
  double weight = 0;        ///< q of each
  double class_energy = 0;  ///< sum of q^2 over the *other* inputs of their output
  int32_t output_group = 0;
};

/// Outputs with (nearly) the same energy Q_y.
struct OutputGroup {
  double outputs = 0;  ///< how many
  double energy = 0;   ///< Q_y of each
};

/// Joins outputs whose energies are within 1 %, in `groups`, which is empty. Returns the group of
/// each.
std::vector<int32_t> group_outputs(const std::vector<double>& energies,
                                   std::vector<OutputGroup>& groups);

/// All that the expected error of a memory depends on, beside d: who competes with how much noise.
struct MemorySummary {
  std::vector<InputGroup> inputs;
  std::vector<OutputGroup> outputs;

  double total_energy() const;  ///< |q|^2
  double output_count() const;  ///< M
};

/// Summarises q [N]. Weights within 3 % and energies within 1 % share a group.
MemorySummary summarise_memory(const AssociationTask& task, std::span<const float> weights);

/// The same for a Zipf task without writing out its N inputs: the first ranks one by one, the rest
/// in 2 % steps of the rank, so N may be 10^8 or more. scheme.stored counts from the most frequent.
MemorySummary summarise_zipf_memory(int64_t inputs, int32_t outputs, double alpha,
                                    const MemoryScheme& scheme);

/// How the scores of the wrong outputs depend on each other beyond what they share with the right
/// one: not at all, or through the largest coefficient among them, which costs some fifty times as
/// much and is done where outputs have at most two energies, as in a memory of equal weights.
enum class RivalScores { kIndependent, kCoupled };

/// Chance that the largest of the M correlated scores of one input of weight q is the right one,
/// for Gaussian e and spherical u: an integral over the length of e_x, the noise on the right
/// score, the length of what the wrong outputs add to the answer, and the largest coefficient among
/// them. Coupled, 1 - recall is within 3 % of simulation for equally weighted associations;
/// independent, within 5 % mostly for d >= 50, too high by 20 % at d = 20 where errors are rare.
/// Throws UsageError unless d >= 2: on a line outputs are equal or opposite, and which of the equal
/// ones is answered cannot be predicted.
double predicted_recall(const MemorySummary& summary, const InputGroup& input, int64_t dimension,
                        RivalScores scores = RivalScores::kCoupled);

/// Expected population error for N and M as large as they may be: predicted_recall over the groups,
/// as which it throws. on_progress: groups, in the thread that called.
double predicted_error(const MemorySummary& summary, int64_t dimension,
                       const OnProgress& on_progress = {});

}  // namespace tessera::theory
