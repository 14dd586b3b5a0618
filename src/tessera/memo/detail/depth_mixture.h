#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tessera::memo {

/// log 0.
constexpr double kLogZero = -std::numeric_limits<double>::infinity();

/// log(1 + e^x).
inline double log_one_plus_exp(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

/// log(e^a + e^b).
inline double log_add(double a, double b) {
  return a == kLogZero ? b : a + log_one_plus_exp(b - a);
}

/// Log likelihood ratio, in nats, of one window's score for a token: "the window was stored once
/// with it" against "it was not", for normal scores of means 1 and 0. noise: their standard
/// deviation, above 0.
inline double log_likelihood_ratio(double score, double noise) {
  return (score - 0.5) / (noise * noise);
}

/// The likelihood ratio M of "a stored text continues after this context" against "none does", as
/// LikelihoodDecoder defines it, and each token's part of it:
///   M = sum over m of p_m B_m sum over y of pi_y L(y, m) / Z_m(y),
///   Z_m(y) = 1 + r pi_y sum over i < m of L(y, i),   B_m = e^(-r (m - 1)) product over y of
///   Z_m(y).
/// The prior p_m of depth m is 0.9 for all k windows; the other depths share the rest equally. At
/// each depth below the context's, r = 0.1 other tokens are expected. The windows are added one by
/// one, shortest first. All values are logs, in nats.
class DepthMixture {
 public:
  /// A token that may have been stored as the next one.
  struct Candidate {
    int32_t token = 0;
    double log_ratio = 0;           ///< log pi_y L(y, m); log pi_y before the first window
    double log_rival = 0;           ///< log Z_m+1(y)
    double log_odds = kLogZero;     ///< log pi_y L(y, m) / Z_m(y): its part of M, given depth m
    double log_weight = kLogZero;   ///< log of the token's part of M
    double best_weight = kLogZero;  ///< the largest term of that part
    int64_t depth = 0;              ///< the m of that term
  };

  /// candidates: their tokens and log pi_y. windows: k.
  DepthMixture(std::vector<Candidate> candidates, int64_t windows);

  /// Adds the next longer window, with its score for each candidate, in their order, and the
  /// standard deviation of these scores, above 0.
  void add_window(std::span<const double> scores, double noise);

  const std::vector<Candidate>& candidates() const { return candidates_; }
  /// log p_m B_m of each window added.
  const std::vector<double>& log_depths() const { return log_depths_; }
  /// log of the likelihood ratio of "a stored text continues here, and the depth is m" against
  /// "none does", m being the number of windows added: B_m sum over y of pi_y L(y, m) / Z_m(y).
  double log_depth_ratio() const;
  /// log M.
  double log_mixture() const;

 private:
  std::vector<Candidate> candidates_;
  int64_t windows_;
  double log_rivals_ = 0;       // log B_m + 1
  double log_last_rivals_ = 0;  // log B_m
  std::vector<double> log_depths_;
};

}  // namespace tessera::memo
