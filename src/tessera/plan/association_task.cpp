#include "tessera/plan/association_task.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tessera/base/consecutive.h"
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

constexpr int64_t kSingleRanks = 10000;
constexpr double kStep = 1.01;

/// p (1 - p)^T of one input.
double unseen_part(double p, double samples) {
  return samples == 0 ? p : p < 1 ? p * std::exp(samples * std::log1p(-p)) : 0.0;
}

}  // namespace

AssociationTask zipf_task(int64_t inputs, int32_t outputs, double alpha) {
  check_argument(inputs > 0, "zipf_task: {} inputs; at least one is needed", inputs);
  check_argument(outputs > 0, "zipf_task: {} outputs; at least one is needed", outputs);
  check_argument(alpha > 0 && std::isfinite(alpha),
                 "zipf_task: the exponent alpha is {}; it must be positive", alpha);
  std::vector<double> weights(inputs);
  for (size_t x = 0; x < weights.size(); ++x) weights[x] = std::pow(x + 1.0, -alpha);
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
  std::vector<double> energies(task.outputs, 0.0);
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

double power_sum(double first, double last, double s) {
  const double a = first - 0.5, b = last - 0.5, ratio = std::log(b / a);
  if (s == 1) return ratio;
  // (b^(1-s) - a^(1-s)) / (1-s), of which rounding would leave little where s is near 1.
  return std::pow(a, 1 - s) * std::expm1((1 - s) * ratio) / (1 - s);
}

AliasTable::AliasTable(std::span<const double> law) : keep_(law.size()), alias_(law.size()) {
  const double total = std::accumulate(law.begin(), law.end(), 0.0);
  check_argument(total > 0, "AliasTable: the weights of {} inputs add up to {}", law.size(), total);
  std::vector<int32_t> poor, rich;
  for (size_t x = 0; x < law.size(); ++x) {
    check_argument(law[x] >= 0, "AliasTable: weight {} of input {} is negative", law[x], x);
    keep_[x] = law[x] / total * law.size();
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
  const double place = random.uniform() * keep_.size();
  const auto cell = std::min(static_cast<size_t>(place), keep_.size() - 1);
  return place - cell < keep_[cell] ? static_cast<int32_t>(cell) : alias_[cell];
}

RankedLaw RankedLaw::zipf(int64_t inputs, double alpha) {
  check_argument(inputs > 0, "RankedLaw: {} inputs; at least one is needed", inputs);
  check_argument(alpha > 0 && std::isfinite(alpha),
                 "RankedLaw: the exponent alpha is {}; it must be positive", alpha);
  RankedLaw law;
  law.inputs_ = inputs;
  for (int64_t x = 1; x <= std::min(inputs, kSingleRanks); ++x)
    law.steps_.push_back({1, std::pow(static_cast<double>(x), -alpha)});
  const double end = inputs + 1.0;
  for (double from = kSingleRanks + 1; from < end;) {
    const double to = std::min(end, std::floor(from * kStep));
    law.steps_.push_back({to - from, power_sum(from, to, alpha) / (to - from)});
    from = to;
  }
  double total = 0;
  for (auto step = law.steps_.rbegin(); step != law.steps_.rend(); ++step)
    total += step->count * step->probability;
  for (Step& step : law.steps_) step.probability /= total;
  return law;
}

RankedLaw RankedLaw::counted(std::span<const double> counts) {
  RankedLaw law;
  for (const double p : counted_task(counts, 1).law) {
    if (!law.steps_.empty() && law.steps_.back().probability == p)
      law.steps_.back().count += 1;
    else
      law.steps_.push_back({1, p});
    ++law.inputs_;
  }
  return law;
}

double RankedLaw::unseen_mass(double samples) const {
  double mass = 0;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
    mass += step->count * unseen_part(step->probability, samples);
  return mass;
}

namespace {

/// The number of inputs to store, at most `inputs`.
size_t checked_stored(const MemoryScheme& scheme, size_t inputs) {
  check_argument(scheme.rho >= 0, "MemoryScheme: the power rho is {}; it must not be negative",
                 scheme.rho);
  if (scheme.stored == MemoryScheme::kAll) return inputs;
  check_argument(scheme.stored >= 1 && static_cast<size_t>(scheme.stored) <= inputs,
                 "MemoryScheme: {} associations to store out of {} inputs", scheme.stored, inputs);
  return scheme.stored;
}

}  // namespace

std::vector<float> scheme_weights(const MemoryScheme& scheme, std::span<const double> law) {
  const size_t stored = checked_stored(scheme, law.size());
  std::vector<float> weights(law.size(), 0.0f);
  // Relative to the most frequent input: the error does not depend on the scale of q, float does.
  for (size_t x = 0; x < stored; ++x)
    weights[x] = static_cast<float>(std::pow(law[x] / law[0], scheme.rho));
  return weights;
}

std::vector<float> scheme_weights(const MemoryScheme& scheme, std::span<const int64_t> counts) {
  const size_t stored = checked_stored(scheme, counts.size());
  std::vector<float> weights(counts.size(), 0.0f);
  const int64_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  const auto store = [&](size_t x) {
    if (counts[x] > 0)
      weights[x] = static_cast<float>(std::pow(1.0 * counts[x] / most, scheme.rho));
  };
  if (stored == counts.size()) {
    for (size_t x = 0; x < counts.size(); ++x) store(x);
    return weights;
  }
  std::vector<size_t> order = consecutive<size_t>(counts.size());
  std::partial_sort(order.begin(), order.begin() + stored, order.end(), [&](size_t a, size_t b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : a < b;
  });
  for (size_t i = 0; i < stored; ++i) store(order[i]);
  return weights;
}

}  // namespace tessera::theory
