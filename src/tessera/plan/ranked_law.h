#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::theory {

/// A law of inputs by rank, in as little room as the planner needs: the first ranks one by one,
/// later ones in steps of 1 %, so that N may be 10^12.
class RankedLaw {
 public:
  /// p(x) proportional to x^-alpha over `inputs` inputs. Throws UsageError unless
  /// inputs >= 1 and alpha > 0.
  static RankedLaw zipf(int64_t inputs, double alpha);
  /// From counts in any order; zeros are dropped. Throws as counted_task does.
  static RankedLaw counted(std::span<const double> counts);

  int64_t inputs() const { return inputs_; }  // N

  /// Sum over x of p (1 - p)^T.
  double unseen_mass(double samples) const;

  /// Inputs of equal probability, the most frequent first.
  struct Step {
    double count = 0;        // inputs
    double probability = 0;  // of each
  };
  std::span<const Step> steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
  int64_t inputs_ = 0;
};

}  // namespace tessera::theory
