#include "tessera/plan/association_task.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tessera/base/error.h"

namespace tessera::theory {
namespace {

/// Scales to sum 1 and gives every rank its output.
AssociationTask task_of_weights(std::vector<double> weights, int32_t outputs) {
  const double total = std::accumulate(weights.rbegin(), weights.rend(), 0.0);
  AssociationTask task{.law = std::move(weights), .output = {}, .outputs = outputs};
  for (double& p : task.law) p /= total;
  task.output.resize(task.law.size());
  for (size_t x = 0; x < task.output.size(); ++x)
    task.output[x] = static_cast<int32_t>(x % static_cast<size_t>(outputs));
  return task;
}

}  // namespace

AssociationTask zipf_task(int64_t inputs, int32_t outputs, double alpha) {
  check_argument(inputs > 0, "zipf_task: {} inputs; at least one is needed", inputs);
  check_argument(outputs > 0, "zipf_task: {} outputs; at least one is needed", outputs);
  check_argument(alpha > 0 && std::isfinite(alpha),
                 "zipf_task: the exponent alpha is {}; it must be positive", alpha);
  std::vector<double> weights(static_cast<size_t>(inputs));
  for (size_t x = 0; x < weights.size(); ++x)
    weights[x] = std::pow(static_cast<double>(x + 1), -alpha);
  return task_of_weights(std::move(weights), outputs);
}

AssociationTask counted_task(std::span<const double> counts, int32_t outputs) {
  check_argument(outputs > 0, "counted_task: {} outputs; at least one is needed", outputs);
  std::vector<double> weights;
  for (size_t x = 0; x < counts.size(); ++x) {
    check_argument(counts[x] >= 0 && std::isfinite(counts[x]),
                   "counted_task: count {} of input {} is not a count", counts[x], x);
    if (counts[x] > 0) weights.push_back(counts[x]);
  }
  check_argument(!weights.empty(), "counted_task: none of the {} counts is positive",
                 counts.size());
  std::stable_sort(weights.begin(), weights.end(), std::greater<>());
  return task_of_weights(std::move(weights), outputs);
}

std::vector<double> class_energies(const AssociationTask& task, std::span<const float> weights) {
  check_argument(std::ssize(weights) == task.inputs(), "class_energies: {} weights for {} inputs",
                 weights.size(), task.inputs());
  std::vector<double> energies(static_cast<size_t>(task.outputs), 0.0);
  for (int64_t x = 0; x < task.inputs(); ++x)
    energies[task.output[x]] += double{weights[x]} * weights[x];
  return energies;
}

std::vector<int64_t> sample_counts(std::span<const double> law, int64_t samples,
                                   RandomStream& random) {
  check_argument(samples >= 0, "sample_counts: {} samples", samples);
  std::vector<int64_t> counts(law.size(), 0);
  double rest = std::accumulate(law.rbegin(), law.rend(), 0.0);
  int64_t left = samples;
  for (size_t x = 0; x < law.size() && left > 0; ++x) {
    const double share = x + 1 == law.size() ? 1.0 : std::clamp(law[x] / rest, 0.0, 1.0);
    counts[x] = share == 1.0 ? left : std::binomial_distribution<int64_t>(left, share)(random);
    left -= counts[x];
    rest -= law[x];
  }
  return counts;
}

AliasTable::AliasTable(std::span<const double> law) : keep_(law.size()), alias_(law.size()) {
  const double total = std::accumulate(law.begin(), law.end(), 0.0);
  check_argument(total > 0, "AliasTable: the weights of {} inputs add up to {}", law.size(), total);
  std::vector<int32_t> poor, rich;
  for (size_t x = 0; x < law.size(); ++x) {
    check_argument(law[x] >= 0, "AliasTable: weight {} of input {} is negative", law[x], x);
    keep_[x] = law[x] / total * static_cast<double>(law.size());
    alias_[x] = static_cast<int32_t>(x);
    (keep_[x] < 1 ? poor : rich).push_back(static_cast<int32_t>(x));
  }
  while (!poor.empty() && !rich.empty()) {
    const int32_t x = poor.back(), giver = rich.back();
    poor.pop_back();
    alias_[x] = giver;
    keep_[giver] -= 1 - keep_[x];
    if (keep_[giver] < 1) {
      rich.pop_back();
      poor.push_back(giver);
    }
  }
  // What is left over is full up to rounding.
  for (const int32_t x : poor) keep_[x] = 1;
  for (const int32_t x : rich) keep_[x] = 1;
}

int32_t AliasTable::draw(RandomStream& random) const {
  const double place = random.uniform() * static_cast<double>(keep_.size());
  const auto cell = std::min(static_cast<size_t>(place), keep_.size() - 1);
  return place - static_cast<double>(cell) < keep_[cell] ? static_cast<int32_t>(cell)
                                                         : alias_[cell];
}

}  // namespace tessera::theory
