#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/random.h"

namespace tessera::theory {

/// What a memory is asked to hold (Cabannes et al. 2024, eq. 1): inputs x in {0, …, N - 1} that
/// come with probability p(x), each with one right output f(x) in {0, …, M - 1}.
struct AssociationTask {
  std::vector<double> law;      ///< [N] p(x), most frequent first, sum 1
  std::vector<int32_t> output;  ///< [N] f(x)
  int32_t outputs = 0;          ///< M

  int64_t inputs() const { return std::ssize(law); }
};

/// p(x) proportional to (x + 1)^-alpha, f(x) = x mod M. Throws UsageError unless
/// inputs > 0, outputs > 0 and alpha > 0.
AssociationTask zipf_task(int64_t inputs, int32_t outputs, double alpha);

/// The same from how often each input was counted, in any order; inputs counted zero times are
/// dropped and the rest sorted, ties in the order given. f(x) = rank mod M. Throws
/// UsageError on a negative count, on no positive count, or unless outputs > 0.
AssociationTask counted_task(std::span<const double> counts, int32_t outputs);

/// Q_y, the sum of q(x)^2 over the inputs of output y. [N] -> [M]. Throws UsageError on a wrong
/// length.
std::vector<double> class_energies(const AssociationTask& task, std::span<const float> weights);

/// How often each x came up in `samples` independent draws from `law`: an exact multinomial by
/// conditional binomials, at a cost that does not grow with the number of samples. [N] -> [N].
/// Throws UsageError unless samples >= 0.
std::vector<int64_t> sample_counts(std::span<const double> law, int64_t samples,
                                   RandomStream& random);

/// Sum of x^-s for x in [first, last), by the midpoint rule: for first beyond some thousands.
double power_sum(double first, double last, double s);

/// Draws single inputs from a law in constant time (Walker 1977, the alias method).
class AliasTable {
 public:
  /// law: weights of at least 0, of any positive sum. Throws UsageError on others.
  explicit AliasTable(std::span<const double> law);

  /// An input, by its share of the weights.
  int32_t draw(RandomStream& random) const;

 private:
  std::vector<double> keep_;    // probability of staying in the cell
  std::vector<int32_t> alias_;  // where the rest goes
};

/// A law of inputs by rank, in as little room as the planner needs: the first ranks one by one,
/// later ones in steps of 1 %, so that N may be 10^12.
class RankedLaw {
 public:
  /// p(x) proportional to x^-alpha over `inputs` inputs. Throws UsageError unless
  /// inputs >= 1 and alpha > 0.
  static RankedLaw zipf(int64_t inputs, double alpha);
  /// From counts in any order; zeros are dropped. Throws as counted_task does.
  static RankedLaw counted(std::span<const double> counts);

  int64_t inputs() const { return inputs_; }  ///< N

  /// The mass of what T samples have not shown, the error of a memory without limit: the sum over x
  /// of p (1 - p)^T (Cabannes et al. 2024, left side of (6)).
  double unseen_mass(double samples) const;

  /// Inputs of equal probability, the most frequent first.
  struct Step {
    double count = 0;        ///< inputs
    double probability = 0;  ///< of each
  };
  std::span<const Step> steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
  int64_t inputs_ = 0;
};

/// How strongly each association is stored (Cabannes et al. 2024, eqs. 10-12):
/// q(x) = p(x)^rho on the `stored` most frequent inputs, 0 elsewhere. rho = 0 stores all equally
/// (eq. 10), rho = 1 by frequency (eq. 11), stored < N is the thresholded scheme (eq. 12).
struct MemoryScheme {
  static constexpr int64_t kAll = INT64_MAX;

  double rho = 0;         ///< power of p(x)
  int64_t stored = kAll;  ///< P
};

/// q(x) from the true law. law [N], most frequent first -> [N].
/// Throws UsageError unless rho >= 0 and stored is kAll or in [1, N].
std::vector<float> scheme_weights(const MemoryScheme& scheme, std::span<const double> law);

/// q(x) from counts of a sample, p(x) read as counts / T: unseen inputs get 0, and the `stored`
/// inputs are the most often counted ones, ties going to the smaller index. [N] -> [N].
std::vector<float> scheme_weights(const MemoryScheme& scheme, std::span<const int64_t> counts);

}  // namespace tessera::theory
