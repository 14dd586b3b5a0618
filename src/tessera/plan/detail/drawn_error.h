#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "tessera/plan/association_task.h"

namespace tessera::theory {

/// Inputs of about equal probability, and whether they are stored.
struct StoredChance {
  double count = 0, probability = 0;  ///< how many, and of each
  double chance = 0;                  ///< that one of them is stored
};

/// What share of the law a memory keeps that stores the P inputs which T samples count most often,
/// of equal counts the more frequent input, none that was not seen (Cabannes et al. 2024, eq. 12).
/// Few samples count wrongly: the P most often counted inputs weigh less than the P most frequent.
class StoredMass {
 public:
  /// samples: T, at least 0; infinity stands for the law itself.
  StoredMass(const RankedLaw& law, double samples);

  /// Expected probability of the inputs stored, for any P >= 0. Counts of different inputs are
  /// taken as independent, and how many inputs come before one as Gaussian. Keeps what it has
  /// computed, so one object must not be used by several threads.
  double of(int64_t stored) const;
  /// The chance of every input to be one of them, the most frequent first.
  std::vector<StoredChance> chances(int64_t stored) const;

 private:
  /// Over the bins before one: how many inputs have at least some count, and the variance of that.
  struct Counted {
    double mean = 0, variance = 0;
  };

  void add_bins(const RankedLaw& law);
  void count_samples(double samples);
  const Counted& counted(size_t bin, int64_t least) const {
    return counted_[bin * (kLevels + 2) + least];
  }
  double reached(size_t bin, int64_t least) const { return reached_[bin * (kLevels + 2) + least]; }
  bool ranked_by_law(double stored) const;
  double chance_by_rank(size_t bin, double stored) const;
  double chance_by_counts(size_t bin, double stored) const;
  double chance_stored(size_t bin, int64_t count, double stored) const;

  /// Counts up to this one are told apart. Where the P-th largest is larger, the sample ranks the
  /// inputs there almost as the law does.
  static constexpr int64_t kLevels = 64;
  double inputs_;
  std::vector<RankedLaw::Step> bins_;  // inputs of about equal probability
  std::vector<double> seen_;           // [bins + 1] running sum of inputs seen
  std::vector<double> reached_;        // [bins, levels + 2] chance of at least so many samples
  std::vector<Counted> counted_;       // [bins + 1, levels + 2]
  mutable std::map<int64_t, double> known_;
};

/// Errors of a memory whose stored inputs the samples choose.
struct DrawnError {
  double stored = 0;      ///< of an input that is stored: its expectation, weighted by probability
  double not_stored = 0;  ///< of one that is not
};

/// The error of a memory of equal weights whose outputs have unevenly many stored inputs, f(x) =
/// rank mod M. Samples seldom count the inputs in the order of their frequency, so some outputs get
/// more places than others: their inputs, and those of outputs that get none, are read worse than
/// where each output has P / M. Inputs are taken as stored independently of each other, with
/// the chances given, and rivals as independent (RivalScores).
///
/// The first ranks are followed one by one; those of later ranks that are stored count as a Poisson
/// number an output. Cost about (P / M)^2 predicted recalls; meant for P up to some times M.
/// Throws UsageError unless outputs >= 1 and dimension >= 2.
DrawnError drawn_error(std::span<const StoredChance> chances, int64_t outputs, int64_t dimension);

}  // namespace tessera::theory
