#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/memory/window_scores.h"

namespace tessera {

/// What a memory says comes next.
struct NextToken {
  int32_t token = 0;
  double score = 0;            ///< the sum of its scores over the windows that voted
  double probability = 0;      ///< of the token, the chance that nothing was stored counted in
  double evidence = 0;         ///< log M, in nats: that something stored goes on, against nothing
  int64_t matched_length = 0;  ///< tokens of the longest window that voted; 0: likely none did
  bool recalled = false;       ///< whether the evidence is beyond doubt; else the token is a guess
  std::vector<float> window_scores;  ///< of this token, shortest window first
};

/// The token with the largest sum of scores over all windows (Zanzotto et al. 2025, eq. 4 and sec.
/// 3.2), the first of equals. Recalled where that sum is above the largest that V tokens reach by
/// noise alone, noise sqrt(2 k ln V). Its probability is that of LikelihoodDecoder with the longest
/// window's hypothesis alone and every token as likely before. noise: TextMemory::noise().
NextToken by_score(const WindowScores& scores, double noise);
/// The same from the sums [V] of the scores of windows of these lengths; leaves window_scores
/// empty.
NextToken by_sum(std::span<const float> sums, std::span<const int64_t> lengths, double noise);

/// Decodes by likelihood ratio. Hypothesis (y, j): token y was stored with the j shortest windows,
/// the longer windows with nothing. Against "nothing was stored" its log likelihood ratio is
///   llr(y, j) = sum over i <= j of (s_i(y) - 1/2) / noise^2,   in nats,
/// for normal scores; scores count as 1 + 4 noise at most, so that what a short window was stored
/// with many times does not outvote a longer one. The hypotheses' prior is pi_y times 0.9999 for
/// all k windows, and 0.0001 / (k - 1) for fewer: backing off to shorter windows comes by itself.
/// Where nothing was stored their mixture M has mean 1 at most, so M > 1 / error_rate happens there
/// with probability error_rate at most (Markov): then, and only then, the token counts as recalled.
/// Hypotheses below e^-30 of the likeliest count as impossible. Under the paper code a window that
/// shares parts with stored ones counts as partly stored: there the error rate holds for contexts
/// that share none.
class LikelihoodDecoder {
 public:
  /// prior [V]: positive weights of the tokens (counts + 1, say). noise: TextMemory::noise().
  /// error_rate: the most often, in (0, 1), that a context never stored may pass for recalled.
  /// Throws std::invalid_argument on others.
  LikelihoodDecoder(std::vector<double> prior, double noise, double error_rate);

  /// The most probable token, the first of equals.
  NextToken best(const WindowScores& scores) const;
  /// [V], their sum is 1: the posterior of the hypotheses and of "nothing was stored", which has
  /// prior 1/2 and leaves the next token to the prior.
  std::vector<double> probabilities(const WindowScores& scores) const;

 private:
  /// Posterior weights without their common denominator.
  struct Posterior {
    std::vector<double> tokens;  ///< [V]
    double total;                ///< their sum
    double log_mixture;          ///< log M
  };
  Posterior posterior(const WindowScores& scores) const;
  double vote(float score) const;
  size_t voting_windows(std::span<const float> window_scores) const;

  std::vector<double> prior_, log_prior_;
  double noise_;
  double error_rate_;
};

}  // namespace tessera
