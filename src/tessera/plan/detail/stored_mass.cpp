#include "tessera/plan/detail/stored_mass.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/statistics.h"

namespace tessera::theory {
namespace {

/// Probabilities within this factor share a bin.
constexpr double kAlike = 1.01;

/// Chances of at least 0, 1, …, levels + 1 out of T samples, each with probability p.
std::vector<double> binomial_tail(double samples, double p, int64_t levels) {
  std::vector<double> tail(static_cast<size_t>(levels + 2), 0.0);
  double chance = 1;
  const double all_choices = std::lgamma(samples + 1);
  for (int64_t n = 0; n <= levels + 1; ++n) {
    tail[static_cast<size_t>(n)] = std::max(0.0, chance);
    const auto count = static_cast<double>(n);
    if (count > samples) break;
    if (n == 0) {
      chance = p < 1 ? -std::expm1(samples * std::log1p(-p)) : samples > 0;
    } else if (p < 1) {
      const double log_choices =
          all_choices - std::lgamma(count + 1) - std::lgamma(samples - count + 1);
      chance -= std::exp(log_choices + count * std::log(p) + (samples - count) * std::log1p(-p));
    } else {
      chance = samples > count;
    }
  }
  return tail;
}

}  // namespace

StoredMass::StoredMass(const RankedLaw& law, double samples)
    : inputs_(static_cast<double>(law.inputs())) {
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
      Bin& last = bins_.back();
      last.probability = (last.count * last.probability + count * p) / (last.count + count);
      last.count += count;
    }
  }
}

void StoredMass::count_samples(double samples) {
  counted_.resize(static_cast<size_t>(kLevels + 2));
  for (const Bin& bin : bins_) {
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
  return known_[stored] = mass;
}

std::vector<StoredChance> StoredMass::chances(int64_t stored) const {
  const auto P = static_cast<double>(stored);
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

}  // namespace tessera::theory
