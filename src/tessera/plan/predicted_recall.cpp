// The chance that the largest of M correlated scores is the right one.
//
// The memory answers e_x with w = c_f u_f + r, where r is the sum of c_z u_z over the outputs z
// other than the right one f, and the c are independent Gaussians given |e_x|. With r_y, the part
// of r that y has no share in, a rival y exceeds f where
//
//   c_y + |r_y| sin(theta) t / sqrt(d - 1)  >  c_f + |r_y| cos(theta),
//
// theta the angle between u_f and r_y, and t of Student's law with d - 1 degrees of freedom: seen
// from u_f, u_y is a point of a sphere in stereographic projection, which has that law. Rivals are
// taken as independent given |e_x|, the noise on the right score, |r| and the largest |c_y|.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/error_predictor.h"

namespace tessera::theory {
namespace {

/// Where an integrand is evaluated, and with which weight.
struct Nodes {
  std::vector<double> at, weight;
};

/// Gauss's rule for a Gamma law of mean 1 and variance 1 / shape: exact for polynomials below
/// degree 2n. The roots of the orthogonal polynomials (Laguerre's) lie between those of the one
/// before.
Nodes gamma_nodes(double shape, int n) {
  // p_{j+1}(x) = (x - 2j - shape) p_j(x) - j (j + shape - 1) p_{j-1}(x)
  const auto polynomials = [&](int degree, double x) {
    double before = 0, now = 1;
    for (int j = 0; j < degree; ++j)
      before = std::exchange(now, (x - 2 * j - shape) * now - j * (j + shape - 1) * before);
    return std::pair(now, before);
  };
  const double end = shape + 4 * n + 4 * std::sqrt(n * (n + shape));
  std::vector<double> roots;
  for (int degree = 1; degree <= n; ++degree) {
    std::vector<double> limits = {0};
    limits.insert(limits.end(), roots.begin(), roots.end());
    limits.push_back(end);
    roots.clear();
    for (size_t k = 0; k + 1 < limits.size(); ++k) {
      double low = limits[k], high = limits[k + 1];
      const bool rises = polynomials(degree, high).first > polynomials(degree, low).first;
      for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2;
        ((polynomials(degree, middle).first > 0) == rises ? high : low) = middle;
      }
      roots.push_back((low + high) / 2);
    }
  }
  Nodes nodes;
  double total = 0;
  for (size_t k = 0; k < roots.size(); ++k) {
    // The weight is proportional to x / p_{n-1}(x)^2.
    const double before = polynomials(n, roots[k]).second / polynomials(n, roots[0]).second;
    nodes.at.push_back(roots[k] / shape);
    nodes.weight.push_back(nodes.at.back() / (before * before));
    total += nodes.weight.back();
  }
  for (double& weight : nodes.weight) weight /= total;
  return nodes;
}

/// P(N > t) for a standard normal N, by a table: relative error below 1e-3, 0 beyond t = 12.
class NormalTail {
 public:
  double operator()(double t) const {
    if (!(t < kReach)) return 0;
    if (t <= -kReach) return 1;
    const double place = (t + kReach) * kSteps;
    const auto i = static_cast<size_t>(place);
    return tails_[i] + (place - i) * (tails_[i + 1] - tails_[i]);
  }

 private:
  static constexpr double kReach = 12, kSteps = 128;

  static const float* table() {
    static const std::vector<float> tails = [] {
      std::vector<float> values;
      for (double at = -kReach; at <= kReach + 2 / kSteps; at += 1 / kSteps)
        values.push_back(static_cast<float>(normal_cdf(-at)));
      return values;
    }();
    return tails.data();
  }

  const float* tails_ = table();
};

/// log(1 - p), by its series where p is small: several times faster than log1p.
double log_of_not(double p) {
  constexpr double kSmall = 1e-3;
  return p < kSmall ? -p * (1 + p * (1.0 / 2 + p * (1.0 / 3 + p / 4))) : std::log(1 - p);
}

/// Outputs of one energy, other than the right one. All of the following is for |e_x| = 1.
struct Rival {
  double count = 0, variance = 0;  // of c_y
};

/// A normal law of this variance cut off at -C and C, by the trapezoidal rule.
Nodes cut_normal_nodes(double variance, double C) {
  constexpr int kSteps = 10;
  const double limit = std::min(C, 4.5 * std::sqrt(variance));
  Nodes nodes;
  double total = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double c = limit * (2.0 * i / kSteps - 1);
    nodes.at.push_back(c);
    nodes.weight.push_back(std::exp(-c * c / (2 * variance)) * (i == 0 || i == kSteps ? 0.5 : 1));
    total += nodes.weight.back();
  }
  for (double& weight : nodes.weight) weight /= total;
  return nodes;
}

/// The rivals where the largest |c_y| is known.
struct GivenLargest {
  double largest = 0, weight = 1;
  std::vector<double> is_largest;  // chance that it is one of the group, by group
  std::vector<double> variance;    // of the other c_y, by group
  std::vector<Nodes> others;       // the law of each of them, by group, where the largest is known
  double rest = 0;                 // mean of the sum of the other c_y^2
  Nodes spreads;                   // of |r|^2 without the largest, relative to its mean
  double leaning = 1;  // how much more |r|^2 spreads with it: u_z and u_y are not orthogonal
};

/// Where it is not known: weight 1.
GivenLargest given_nothing(const std::vector<Rival>& rivals, double dimension) {
  GivenLargest given;
  double squares = 0;
  for (const Rival& rival : rivals) {
    given.is_largest.push_back(0);
    given.variance.push_back(rival.variance);
    given.rest += rival.count * rival.variance;
    squares += rival.count * rival.variance * rival.variance;
  }
  const double share = given.rest > 0 ? squares / (given.rest * given.rest) : 0;
  given.spreads = gamma_nodes(0.5 / (share + (1 - share) / dimension), 3);
  return given;
}

/// Where it is C > 0, of weight the density of C.
GivenLargest given_largest(const std::vector<Rival>& rivals, double C, double dimension) {
  GivenLargest given;
  given.largest = C;
  double log_below = 0, density = 0, fluctuation = 0;
  std::vector<double> fourth(rivals.size(), 0.0);  // mean of c_y^4
  for (size_t g = 0; g < rivals.size(); ++g) {
    const auto& [count, variance] = rivals[g];
    given.is_largest.push_back(0);
    given.variance.push_back(0);
    given.others.push_back(variance > 0 ? cut_normal_nodes(variance, C) : Nodes());
    if (variance == 0) continue;
    // A normal law cut off at C: chance of lying within, moments.
    const double x = C / std::sqrt(variance), within = 1 - 2 * normal_cdf(-x);
    const double edge = 2 * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi) / within;
    given.variance[g] = variance * std::max(0.0, 1 - x * edge);
    fourth[g] = variance * variance * std::max(0.0, 3 - (x * x * x + 3 * x) * edge);
    given.is_largest[g] = count * edge / std::sqrt(variance);
    density += given.is_largest[g];
    log_below += count * std::log(within);
  }
  given.weight = density * std::exp(log_below);
  for (size_t g = 0; g < rivals.size(); ++g) {
    given.is_largest[g] /= density;
    const double others = rivals[g].count - given.is_largest[g];
    given.rest += others * given.variance[g];
    fluctuation += others * (fourth[g] - given.variance[g] * given.variance[g]);
  }
  const double relative = given.rest > 0 ? fluctuation / (given.rest * given.rest) : 0;
  const double spread = std::max(0.0, relative) + 2 / dimension;
  given.spreads = gamma_nodes(1 / spread, 5);
  if (given.rest > 0) given.leaning = std::sqrt(1 + 4 * C * C / (given.rest * dimension * spread));
  return given;
}

constexpr size_t kFewEnergies = 2, kManyEnergies = 8;

/// How finely the laws are followed: many energies are averaged over anyway, and cost most.
struct Fineness {
  int lengths, tails;
  double step;  // of the noise on the right score
};

Fineness fineness(const MemorySummary& summary, double dimension, RivalScores scores) {
  if (summary.outputs.size() > kManyEnergies) return {5, 1, 0.6};
  const bool coupled = scores == RivalScores::kCoupled;
  return {dimension < 200 ? 7 : 5,
          coupled && dimension < 100   ? 7
          : coupled || dimension < 200 ? 3
                                       : 1,
          0.45};
}

/// The outputs other than the right one f.
class Rivals {
 public:
  Rivals(const MemorySummary& summary, int32_t own_group, double dimension, RivalScores scores,
         const Fineness& fineness)
      : dimension_(dimension),
        step_(fineness.step),
        tails_(gamma_nodes((dimension - 1) / 2, fineness.tails)) {
    for (const double tail : tails_.at) roots_.push_back(std::sqrt(tail));
    for (size_t g = 0; g < summary.outputs.size(); ++g) {
      const OutputGroup& group = summary.outputs[g];
      const double count = group.outputs - (static_cast<int32_t>(g) == own_group ? 1 : 0);
      if (count > 0) rivals_.push_back({count, group.energy / dimension});
    }
    if (scores == RivalScores::kCoupled && rivals_.size() <= kFewEnergies) know_the_largest();
    if (rivals_.size() > kManyEnergies) join_alike();
    if (cases_.empty()) cases_.push_back(given_nothing(rivals_, dimension_));
  }

  /// P(none exceeds f), where the right score is signal + n sqrt(own + |r_y|^2 / d) beside rival y,
  /// over n. length = |e_x|.
  double chance_of_none(double signal, double own, double length) const {
    if (rivals_.empty()) return 1;
    double chance = 0;
    for (const GivenLargest& given : cases_)
      for (size_t k = 0; k < given.spreads.at.size(); ++k)
        chance += given.weight * given.spreads.weight[k] *
                  chance_given(given, given.spreads.at[k], {signal, own, length * length});
    return chance;
  }

 private:
  struct Right {
    double signal, own, squared_length, n = 0;
  };

  /// What the noise that f shares with a rival is, whatever n.
  struct Shared {
    double noise, deviation;  // its variance; that of the right score, as a standard deviation
  };

  /// r2 = |r_y|^2.
  Shared shared_with(const Right& right, double r2) const {
    const double noise = right.squared_length * r2 / dimension_;
    return {noise, std::sqrt(right.own + noise)};
  }

  /// Rivals whose scores spread alike count as one group: most of a score's variance is that of r,
  /// which all share, and only a large energy adds to it.
  void join_alike() {
    double shared = 0;
    for (const auto& [count, variance] : rivals_) shared += count * variance / dimension_;
    // By the exponent and five more binary digits of that variance: within 3 %.
    const auto cell = [&](double variance) {
      return std::bit_cast<int64_t>(shared + variance) >> (52 - 5);
    };
    std::map<int64_t, Rival> groups;
    for (const auto& [count, variance] : rivals_) {
      Rival& group = groups[cell(variance)];
      group.count += count;
      group.variance += count * variance;
    }
    rivals_.clear();
    for (const auto& [digits, group] : groups)
      rivals_.push_back({group.count, group.variance / group.count});
  }

  /// A largest c_y brings all rivals nearer to f. That is followed where outputs have few energies,
  /// as in a memory of equally weighted associations; among many it costs much and changes little.
  void know_the_largest() {
    double widest = 0, stored = 0;
    for (const auto& [count, variance] : rivals_) {
      widest = std::max(widest, variance);
      if (variance > 0) stored += count;
    }
    if (stored < 2) return;
    constexpr int kLargest = 16;
    const double reach = std::sqrt(widest) * (std::sqrt(2 * std::log(stored + 1)) + 4);
    double total = 0;
    for (int i = 0; i < kLargest; ++i) {
      cases_.push_back(given_largest(rivals_, reach * (i + 0.5) / kLargest, dimension_));
      total += cases_.back().weight;
    }
    for (GivenLargest& given : cases_) given.weight /= total;
    std::erase_if(cases_, [](const GivenLargest& given) { return given.weight < 1e-8; });
  }

  double chance_given(const GivenLargest& given, double spread, Right right) const {
    constexpr double kReach = 5;
    const double all = given.largest * given.largest +
                       given.rest * std::max(0.0, 1 + (spread - 1) * given.leaning);
    const double noise = right.squared_length * all / dimension_, scores = right.own + noise;
    // n is Gaussian but for the part that is the cosine of an angle, by which |r| leans on u_f.
    const double leaning = scores > 0 ? noise / scores : 0;
    const double directions = dimension_ / std::max(1e-9, leaning * leaning);
    const Shared with_largest = shared_with(right, given.rest * spread);
    std::vector<Shared> with_rivals;
    for (const double variance : given.variance)
      with_rivals.push_back(shared_with(right, std::max(0.0, all - variance * spread)));
    double chance = 0, total = 0;
    for (right.n = -kReach; right.n <= kReach; right.n += step_) {
      const double cosine2 = right.n * right.n / directions;
      if (cosine2 >= 1) continue;
      const double weight = std::exp((directions - 3) / 2 * log_of_not(cosine2));
      const double turned = (right.n * right.n * leaning + 1 - leaning) / dimension_;
      const double sine2 = std::max(0.0, 1 - turned) / (1 - 1 / dimension_);
      total += weight;
      chance += weight * (given.largest == 0 && roots_.size() == 1
                              ? chance_beside_many(with_rivals, sine2, right)
                              : chance_beside(given, with_largest, with_rivals, sine2, right));
    }
    return chance / total;
  }

  double chance_beside(const GivenLargest& given, const Shared& with_largest,
                       const std::vector<Shared>& with_rivals, double sine2,
                       const Right& right) const {
    const Scores of_largest = scores_beside(right, with_largest, sine2);
    double log_none = 0, largest_above = 0;
    for (size_t g = 0; g < rivals_.size(); ++g) {
      const double is_largest = given.is_largest[g];
      if (is_largest > 0)
        largest_above +=
            is_largest *
            (chance_above(of_largest, given.largest) + chance_above(of_largest, -given.largest)) /
            2;
      const Scores scores = scores_beside(right, with_rivals[g], sine2);
      double exceeds = 0;
      if (is_largest == 0)
        exceeds = chance_above_any(scores, given.variance[g]);
      else
        for (size_t i = 0; i < given.others[g].at.size(); ++i)
          exceeds += given.others[g].weight[i] * chance_above(scores, given.others[g].at[i]);
      log_none += (rivals_[g].count - is_largest) * log_of_not(std::min(exceeds, 1 - 1e-15));
    }
    return (1 - largest_above) * std::exp(log_none);
  }

  /// The same where no c_y is known and all tails are alike: block by block, in which a processor
  /// takes several rivals at once, as far as any chance is left.
  double chance_beside_many(const std::vector<Shared>& with_rivals, double sine2,
                            const Right& right) const {
    constexpr size_t kBlock = 32;
    constexpr double kNothingLeft = -746;  // exp() of less is 0
    const double length = std::sqrt(right.squared_length);
    std::array<double, kBlock> score, variance, gap;
    double log_none = 0;
    for (size_t first = 0; first < rivals_.size(); first += kBlock) {
      const size_t count = std::min(kBlock, rivals_.size() - first);
      for (size_t i = 0; i < count; ++i) {
        const Shared& shared = with_rivals[first + i];
        score[i] = right.signal + right.n * shared.deviation;
        variance[i] = (shared.noise * sine2 + 1e-300) / tails_.at.front() +
                      length * length * rivals_[first + i].variance;
        gap[i] = score[i] / std::sqrt(variance[i]);
      }
      for (size_t i = 0; i < count; ++i) {
        const Rival& rival = rivals_[first + i];
        double exceeds = 0;
        if (rival.variance == 0)
          exceeds = chance_above(scores_beside(right, with_rivals[first + i], sine2), 0);
        else if (!(score[i] > 0 && score[i] * score[i] > kDeviations * kDeviations * variance[i]))
          exceeds = normal_tail_(gap[i]);
        log_none += rival.count * log_of_not(std::min(exceeds, 1 - 1e-15));
      }
      if (log_none < kNothingLeft) return 0;
    }
    return std::exp(log_none);
  }

  /// The right score and the noise of a rival's, in terms of |e_x|.
  struct Scores {
    double right, length;  // |e_x|: a rival's mean score by its c_y
    double variance;       // of the noise
  };

  /// sine2 = sin^2(theta) beside its mean.
  static Scores scores_beside(const Right& right, const Shared& shared, double sine2) {
    return {right.signal + right.n * shared.deviation, std::sqrt(right.squared_length),
            shared.noise * sine2 + 1e-300};
  }

  /// Whether nothing is left of noise of this variance, and of a normal law of variance `more`.
  bool is_beyond(double gap, double variance, double more = 0) const {
    return gap > 0 && gap * gap > kDeviations * kDeviations * (variance / tails_.at.front() + more);
  }

  /// Chance that a rival exceeds f whose c_y is known.
  double chance_above(const Scores& scores, double c) const {
    const double gap = scores.right - c * scores.length;
    if (is_beyond(gap, scores.variance)) return 0;
    const double scaled = gap / std::sqrt(scores.variance);
    double chance = 0;
    for (size_t t = 0; t < roots_.size(); ++t)  // 1 / root^2 scales the noise
      chance += tails_.weight[t] * normal_tail_(scaled * roots_[t]);
    return chance;
  }

  /// Chance that a rival exceeds f whose c_y is normal, of mean 0 and this variance.
  double chance_above_any(const Scores& scores, double variance) const {
    if (variance == 0) return chance_above(scores, 0);
    const double sure = scores.length * scores.length * variance;
    if (is_beyond(scores.right, scores.variance, sure)) return 0;
    double chance = 0;
    for (size_t t = 0; t < roots_.size(); ++t)
      chance += tails_.weight[t] *
                normal_tail_(scores.right / std::sqrt(scores.variance / tails_.at[t] + sure));
    return chance;
  }

  static constexpr double kDeviations = 8;  // of noise, beyond which nothing of it is left

  NormalTail normal_tail_;
  double dimension_, step_;
  Nodes tails_;                // chi^2 / (d - 1) of Student's law
  std::vector<double> roots_;  // of tails_
  std::vector<Rival> rivals_;
  std::vector<GivenLargest> cases_;
};

}  // namespace

double predicted_recall(const MemorySummary& summary, const InputGroup& input, int64_t dimension,
                        RivalScores scores) {
  check_argument(dimension >= 2, "predicted_recall: dimension {}; at least 2 is needed", dimension);
  if (summary.total_energy() == 0) return 1 / summary.output_count();
  const double d = dimension;
  const Fineness fine = fineness(summary, d, scores);
  const Rivals rivals(summary, input.output_group, d, scores, fine);
  const Nodes squared_lengths = gamma_nodes(d / 2, fine.lengths);  // |e_x|^2
  double recall = 0;
  for (size_t i = 0; i < squared_lengths.at.size(); ++i) {
    const double a = squared_lengths.at[i];
    recall += squared_lengths.weight[i] *
              rivals.chance_of_none(input.weight * a, a * input.class_energy / d, std::sqrt(a));
  }
  return std::min(1.0, recall);  // of which rounding may have made a little more
}

}  // namespace tessera::theory
