#include "tessera/plan/error_predictor.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <tuple>

#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"
#include "tessera/plan/parallel.h"

namespace tessera::theory {
namespace {

constexpr double kWeightStep = 0.03, kEnergyStep = 0.01;
constexpr int64_t kExactRanks = 4096;
constexpr size_t kTailGroups = 8;  // beyond those ranks, outputs of like energy count as one

/// The cell of a logarithmic grid; one cell of its own for 0.
int64_t cell(double value, double step) {
  return value > 0 ? std::llround(std::log(value) / step) : INT64_MIN;
}

/// For every output group the one that stands for it beyond the exact ranks: the middle one of each
/// eighth of the groups by energy.
std::vector<int32_t> tail_groups(const std::vector<OutputGroup>& groups) {
  std::vector<int32_t> order = consecutive<int32_t>(groups.size()), stand_in(groups.size());
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return groups[a].energy < groups[b].energy; });
  const size_t parts = std::min(kTailGroups, groups.size());
  for (size_t part = 0; part < parts; ++part) {
    const size_t first = part * groups.size() / parts, last = (part + 1) * groups.size() / parts;
    for (size_t k = first; k < last; ++k) stand_in[order[k]] = order[(first + last) / 2];
  }
  return stand_in;
}

/// Collects inputs into groups whose numbers are means over probability.
class InputGrouping {
 public:
  void add(double mass, double weight, double class_energy, int32_t output_group) {
    InputGroup& group =
        groups_[{output_group, cell(weight, kWeightStep), cell(class_energy, kEnergyStep)}];
    group.mass += mass;
    group.weight += mass * weight;
    group.class_energy += mass * class_energy;
    group.output_group = output_group;
  }

  std::vector<InputGroup> finish() const {
    std::vector<InputGroup> inputs;
    for (const auto& [key, sums] : groups_) {
      if (sums.mass == 0) continue;
      inputs.push_back(sums);
      inputs.back().weight /= sums.mass;
      inputs.back().class_energy /= sums.mass;
    }
    return inputs;
  }

 private:
  std::map<std::tuple<int32_t, int64_t, int64_t>, InputGroup> groups_;
};

}  // namespace

std::vector<int32_t> group_outputs(const std::vector<double>& energies,
                                   std::vector<OutputGroup>& groups) {
  std::map<int64_t, int32_t> known;
  std::vector<int32_t> group_of(energies.size());
  for (size_t y = 0; y < energies.size(); ++y) {
    const auto [place, is_new] =
        known.try_emplace(cell(energies[y], kEnergyStep), static_cast<int32_t>(groups.size()));
    if (is_new) groups.push_back({});
    group_of[y] = place->second;
    groups[place->second].outputs += 1;
    groups[place->second].energy += energies[y];
  }
  for (OutputGroup& group : groups) group.energy /= group.outputs;
  return group_of;
}

double MemorySummary::total_energy() const {
  double total = 0;
  for (const OutputGroup& group : outputs) total += group.outputs * group.energy;
  return total;
}

double MemorySummary::output_count() const {
  double count = 0;
  for (const OutputGroup& group : outputs) count += group.outputs;
  return count;
}

MemorySummary summarise_memory(const AssociationTask& task, std::span<const float> weights) {
  const auto energies = class_energies(task, weights);
  MemorySummary summary;
  const auto group_of = group_outputs(energies, summary.outputs);
  const auto stand_in = tail_groups(summary.outputs);
  InputGrouping inputs;
  for (int64_t x = 0; x < task.inputs(); ++x) {
    const double q = weights[x];
    const double others = energies[task.output[x]] - q * q;
    const int32_t group = group_of[task.output[x]];
    if (x >= kExactRanks && others > 0.5 * energies[task.output[x]]) {
      const int32_t other = stand_in[group];
      inputs.add(task.law[x], q, std::max(0.0, summary.outputs[other].energy - q * q), other);
      continue;
    }
    // An output with a single input leaves rounding, not energy.
    const bool alone = others < 1e-9 * energies[task.output[x]];
    inputs.add(task.law[x], q, alone ? 0.0 : others, group);
  }
  summary.inputs = inputs.finish();
  return summary;
}

MemorySummary summarise_zipf_memory(int64_t inputs, int32_t outputs, double alpha,
                                    const MemoryScheme& scheme) {
  const int64_t head = std::min(inputs, std::max<int64_t>(kExactRanks, 4 * int64_t{outputs}));
  const AssociationTask first = zipf_task(head, outputs, alpha);
  if (head == inputs) return summarise_memory(first, scheme_weights(scheme, first.law));

  const double head_sum = 1 / first.law[0];
  const double end = inputs + 1.0;
  const double total = head_sum + power_sum(head + 1, end, alpha);
  const int64_t stored = scheme.stored == MemoryScheme::kAll ? inputs : scheme.stored;
  check_argument(stored >= 1 && stored <= inputs,
                 "summarise_zipf_memory: {} associations to store out of {} inputs", stored,
                 inputs);
  const auto weights =
      scheme_weights({.rho = scheme.rho, .stored = std::min(stored, head)}, first.law);
  const double weight_power = scheme.rho * alpha;
  std::vector<double> energies = class_energies(first, weights);
  if (stored > head)
    for (double& energy : energies)
      energy += power_sum(head + 1, stored + 1, 2 * weight_power) / outputs;

  MemorySummary summary;
  const auto group_of = group_outputs(energies, summary.outputs);
  InputGrouping grouping;
  for (int64_t x = 0; x < head; ++x) {
    const double q = weights[x], energy = energies[first.output[x]];
    grouping.add(first.law[x] * head_sum / total, q, std::max(0.0, energy - q * q),
                 group_of[first.output[x]]);
  }
  const auto stand_in = tail_groups(summary.outputs);
  // Ranks [from, to) beyond the head: every output has its share of them.
  const auto add_tail = [&](double from, double to, double q) {
    const double mass = power_sum(from, to, alpha) / total;
    for (size_t g = 0; g < summary.outputs.size(); ++g)
      grouping.add(mass * summary.outputs[g].outputs / outputs, q,
                   std::max(0.0, summary.outputs[stand_in[g]].energy - q * q), stand_in[g]);
  };
  double from = head + 1;
  while (from < end) {
    const bool is_stored = from <= stored;
    const double limit = is_stored ? stored + 1 : end;
    const double to = std::min(limit, std::max(from + 1, std::floor(from * 1.02)));
    add_tail(from, to, is_stored ? std::pow(std::sqrt(from * to), -weight_power) : 0.0);
    from = to;
  }
  summary.inputs = grouping.finish();
  return summary;
}

double predicted_error(const MemorySummary& summary, int64_t dimension,
                       const OnProgress& on_progress) {
  std::vector<double> errors(summary.inputs.size());
  std::atomic<int64_t> done = 0;
  parallel_for(std::ssize(errors), [&](int64_t k) {
    errors[k] =
        summary.inputs[k].mass * (1 - predicted_recall(summary, summary.inputs[k], dimension));
    const int64_t so_far = ++done;
    if (on_progress && omp_get_thread_num() == 0) on_progress(so_far, std::ssize(errors));
  });
  double error = 0;
  for (const double part : errors) error += part;
  return error;
}

}  // namespace tessera::theory
