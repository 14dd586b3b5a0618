#include "tessera/plan/detail/drawn_error.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/error_predictor.h"

namespace tessera::theory {
namespace {

/// Probabilities within this factor share a bin.
constexpr double kAlike = 1.01;

/// Chances of at least 0, 1, …, levels + 1 out of T samples, each with probability p.
std::vector<double> binomial_tail(double samples, double p, int64_t levels) {
  std::vector<double> tail(levels + 2, 0.0);
  double chance = 1;
  double log_choices = 0;  // of n samples out of all
  for (int64_t n = 0; n <= levels + 1; ++n) {
    tail[n] = std::max(0.0, chance);
    const double count = n;
    if (count > samples) break;
    if (n == 0) {
      chance = p < 1 ? -std::expm1(samples * std::log1p(-p)) : samples > 0;
    } else if (p < 1) {
      log_choices += std::log((samples - count + 1) / count);
      chance -= std::exp(log_choices + count * std::log(p) + (samples - count) * std::log1p(-p));
    } else {
      chance = samples > count;
    }
  }
  return tail;
}

}  // namespace

StoredMass::StoredMass(const RankedLaw& law, double samples) : inputs_(law.inputs()) {
  check_argument(samples >= 0, "StoredMass: {} samples", samples);
  add_bins(law);
  if (std::isfinite(samples)) count_samples(samples);
  seen_ = {0};
  for (size_t b = 0; b < bins_.size(); ++b)
    seen_.push_back(seen_.back() + bins_[b].count * (reached_.empty() ? 1.0 : reached(b, 1)));
}

void StoredMass::add_bins(const RankedLaw& law) {
  double first = 0;  // the largest probability of the last bin
  for (const auto& [count, p] : law.steps()) {
    if (bins_.empty() || p * kAlike < first) {
      bins_.push_back({count, p});
      first = p;
    } else {
      RankedLaw::Step& last = bins_.back();
      last.probability = (last.count * last.probability + count * p) / (last.count + count);
      last.count += count;
    }
  }
}

void StoredMass::count_samples(double samples) {
  counted_.resize(kLevels + 2);
  for (const RankedLaw::Step& bin : bins_) {
    const auto tail = binomial_tail(samples, bin.probability, kLevels);
    const size_t before = counted_.size() - tail.size();
    for (size_t n = 0; n < tail.size(); ++n) {
      const Counted sum = counted_[before + n];
      counted_.push_back(
          {sum.mean + bin.count * tail[n], sum.variance + bin.count * tail[n] * (1 - tail[n])});
    }
    reached_.insert(reached_.end(), tail.begin(), tail.end());
  }
}

double StoredMass::of(int64_t stored) const {
  if (stored <= 0) return 0;
  const auto known = known_.find(stored);
  if (known != known_.end()) return known->second;
  double mass = 0;
  for (const StoredChance& inputs : chances(stored))
    mass += inputs.count * inputs.probability * inputs.chance;
  return known_[stored] = std::min(mass, 1.0);
}

std::vector<StoredChance> StoredMass::chances(int64_t stored) const {
  const double P = stored;
  const bool by_rank = ranked_by_law(P);
  std::vector<StoredChance> chances;
  for (size_t b = 0; b < bins_.size(); ++b)
    chances.push_back({bins_[b].count, bins_[b].probability,
                       by_rank ? chance_by_rank(b, P) : chance_by_counts(b, P)});
  return chances;
}

bool StoredMass::ranked_by_law(double stored) const {
  if (reached_.empty() || stored >= inputs_) return true;
  const Counted& beyond = counted(bins_.size(), kLevels + 1);
  return beyond.mean + 6 * std::sqrt(beyond.variance) > stored;
}

double StoredMass::chance_by_rank(size_t bin, double stored) const {
  const double seen = seen_[bin + 1] - seen_[bin];
  return std::clamp(stored - seen_[bin], 0.0, seen) / bins_[bin].count;
}

double StoredMass::chance_by_counts(size_t bin, double stored) const {
  constexpr double kNegligible = 1e-12;
  double chance = reached(bin, kLevels + 1);  // those come before the P-th for sure
  for (int64_t count = 1; count <= kLevels; ++count) {
    const double counted_so = reached(bin, count) - reached(bin, count + 1);
    if (counted_so > kNegligible) chance += counted_so * chance_stored(bin, count, stored);
  }
  return chance;
}

double StoredMass::chance_stored(size_t bin, int64_t count, double stored) const {
  // Before an input of this bin come the more frequent ones with at least its count, and the others
  // with a larger one; of its own bin, half on either side.
  const Counted &more_frequent = counted(bin, count), &all = counted(bins_.size(), count + 1),
                &to_here = counted(bin + 1, count + 1);
  const double inputs = bins_[bin].count, at_least = reached(bin, count),
               larger = reached(bin, count + 1);
  const double mean =
      more_frequent.mean + all.mean - to_here.mean + (inputs - 1) / 2 * (at_least + larger);
  const double ties = inputs * (at_least - larger);  // spread evenly over the bin
  const double variance = more_frequent.variance + all.variance - to_here.variance +
                          (inputs - 1) / 2 * (at_least * (1 - at_least) + larger * (1 - larger)) +
                          (inputs > 1 ? ties * ties / 12 : 0.0);
  const double room = stored - 0.5 - mean;
  if (variance < 1e-12) return room > 0 ? 1 : 0;
  return normal_cdf(room / std::sqrt(variance));
}

namespace {

constexpr int64_t kFollowedRanks = 16384;
constexpr double kNegligible = 1e-8;

/// Indexed by how many inputs of one output are stored.
using ByCount = std::vector<double>;

/// Inputs of one output, added one by one.
struct DrawnOutput {
  ByCount chance;      // that so many are stored
  ByCount stored;      // probability of a stored input beside so many other stored ones
  ByCount not_stored;  // probability of one that is not

  explicit DrawnOutput(size_t counts) : chance(counts), stored(counts), not_stored(counts) {
    chance[0] = 1;
  }

  void add(double probability, double is_stored) {
    for (size_t k = chance.size(); k-- > 0;) {
      const auto with_it = [&](ByCount& law) {
        law[k] = law[k] * (1 - is_stored) + (k > 0 ? law[k - 1] * is_stored : 0.0);
      };
      with_it(stored);
      with_it(not_stored);
      stored[k] += chance[k] * probability * is_stored;
      not_stored[k] += chance[k] * probability * (1 - is_stored);
      with_it(chance);
    }
  }
};

/// Inputs beyond the ranks that are followed, as much of them as one output has.
struct LaterRanks {
  double expected = 0;                // how many are stored
  double stored = 0, not_stored = 0;  // probability
};

/// The number stored becomes the sum of it and a Poisson number.
void add_poisson(ByCount& law, double mean) {
  const ByCount before = law;
  std::fill(law.begin(), law.end(), 0.0);
  double chance = std::exp(-mean);
  for (size_t more = 0; more < law.size(); ++more, chance *= mean / more)
    for (size_t k = more; k < law.size(); ++k) law[k] += chance * before[k - more];
}

/// All outputs together.
class DrawnOutputs {
 public:
  DrawnOutputs(std::span<const StoredChance> chances, int64_t outputs) {
    double places = 0;
    for (const StoredChance& step : chances) places += step.count * step.chance;
    const double each = places / outputs;
    counts_ = static_cast<size_t>(std::ceil(each + 8 * std::sqrt(each) + 8));
    for (ByCount* law : {&outputs_, &stored_, &not_stored_, &mass_}) law->resize(counts_);
    beside_.assign(counts_, ByCount(counts_));

    std::vector<DrawnOutput> with_ranks(std::min(kFollowedRanks, outputs), DrawnOutput(counts_));
    const LaterRanks later = follow(chances, with_ranks, outputs);
    for (DrawnOutput& output : with_ranks) add(output, later, 1);
    DrawnOutput without_ranks(counts_);
    add(without_ranks, later, outputs - std::ssize(with_ranks));
  }

  DrawnError error(int64_t dimension) const {
    DrawnError sum;
    double stored = 0, not_stored = 0;
    for (size_t count = 0; count < counts_; ++count) {
      if (mass_[count] < kNegligible) continue;
      const MemorySummary memory = seen_from(count);
      const auto add_error = [&](double mass, double weight, double beside, double& total,
                                 double& error) {
        const InputGroup input{mass, weight, beside,
                               static_cast<int32_t>(memory.outputs.size()) - 1};
        total += mass;
        error += mass * (1 - predicted_recall(memory, input, dimension, RivalScores::kIndependent));
      };
      const double energy = count;
      if (count > 0) add_error(stored_[count - 1], 1, energy - 1, stored, sum.stored);
      add_error(not_stored_[count], 0, energy, not_stored, sum.not_stored);
    }
    if (stored > 0) sum.stored /= stored;
    if (not_stored > 0) sum.not_stored /= not_stored;
    return sum;
  }

 private:
  /// Adds the first ranks to their outputs, and returns what is left.
  static LaterRanks follow(std::span<const StoredChance> chances,
                           std::vector<DrawnOutput>& with_ranks, int64_t outputs) {
    LaterRanks later;
    int64_t rank = 0;
    for (const StoredChance& step : chances) {
      double left = step.count;
      for (; left > 0.5 && rank < kFollowedRanks; --left, ++rank)
        with_ranks[rank % outputs].add(step.probability, step.chance);
      later.expected += left * step.chance / outputs;
      later.stored += left * step.chance * step.probability / outputs;
      later.not_stored += left * (1 - step.chance) * step.probability / outputs;
    }
    return later;
  }

  void add(DrawnOutput& output, const LaterRanks& later, double times) {
    for (ByCount* law : {&output.chance, &output.stored, &output.not_stored})
      add_poisson(*law, later.expected);
    for (size_t k = 0; k < counts_; ++k) {
      output.stored[k] += later.stored * output.chance[k];
      output.not_stored[k] += later.not_stored * output.chance[k];
      outputs_[k] += times * output.chance[k];
      stored_[k] += times * output.stored[k];
      not_stored_[k] += times * output.not_stored[k];
    }
    for (size_t own = 0; own < counts_; ++own) {
      const double mass = output.not_stored[own] + (own > 0 ? output.stored[own - 1] : 0.0);
      mass_[own] += times * mass;
      for (size_t k = 0; k < counts_; ++k) beside_[own][k] += times * mass * output.chance[k];
    }
  }

  /// The memory as an output with this many stored inputs sees it; its own group is the last.
  MemorySummary seen_from(size_t count) const {
    MemorySummary memory;
    for (size_t k = 0; k < counts_; ++k) {
      const double others = outputs_[k] - beside_[count][k] / mass_[count];
      if (others > kNegligible) memory.outputs.push_back({others, static_cast<double>(k)});
    }
    memory.outputs.push_back({1, static_cast<double>(count)});
    return memory;
  }

  size_t counts_ = 0;                      // that are told apart: the others are too rare
  ByCount outputs_, stored_, not_stored_;  // sums over the outputs
  ByCount mass_;                           // probability of all inputs, by what their output has
  std::vector<ByCount> beside_;            // how many outputs have k beside it, times that
};

}  // namespace

DrawnError drawn_error(std::span<const StoredChance> chances, int64_t outputs, int64_t dimension) {
  check_argument(outputs >= 1, "drawn_error: {} outputs; at least one is needed", outputs);
  check_argument(dimension >= 2, "drawn_error: dimension {}; at least 2 is needed", dimension);
  return DrawnOutputs(chances, outputs).error(dimension);
}

}  // namespace tessera::theory
