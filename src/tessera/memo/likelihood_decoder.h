#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/memo/window_scores.h"

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

/// Decodes by likelihood ratio. A context has depth m where its m shortest windows were stored and
/// the longer ones were not; the token that follows was stored with all m, other tokens with fewer.
/// Against "nothing was stored" with token y, the i shortest windows have the likelihood ratio
///   L(y, i) = exp sum over j <= i of (s_j(y) - 1/2) / noise^2        for normal scores, and
///   M = sum over m of p_m B_m sum over y of pi_y L(y, m) / Z_m(y),   where
///   Z_m(y) = 1 + r pi_y sum over i < m of L(y, i),   B_m = e^(-r (m - 1)) product over y of Z_m(y)
/// is that of "something was stored": of the depths, p_m, all k windows have 0.9 and the others the
/// rest in equal parts; pi is the tokens' prior; of each depth below the context's, r = 0.1 other
/// tokens are expected. So what a token's short windows say counts once: of two tokens that were
/// both stored with them, the longer windows alone decide.
///
/// Where nothing was stored M has mean 1 at most, so M > 1 / error_rate happens there with
/// probability error_rate at most (Markov): then, and only then, the token counts as recalled.
/// Tokens with pi_y L(y, i) below e^-14 for all i count as not stored. Under the paper code a
/// window that shares parts with stored ones counts as partly stored: there the error rate holds
/// for contexts that share none.
class LikelihoodDecoder {
 public:
  /// prior [V]: positive weights of the tokens (counts + 1, say). noise: TextMemory::noise().
  /// error_rate: the most often, in (0, 1), that a context never stored may pass for recalled.
  /// Throws std::invalid_argument on others.
  LikelihoodDecoder(std::vector<double> prior, double noise, double error_rate);

  /// The most probable token, should something have been stored; the first of equals.
  NextToken best(const WindowScores& scores) const;
  /// [V], their sum is 1: the posterior where "nothing was stored", which leaves the next token to
  /// the prior, is as likely before as that something was.
  std::vector<double> probabilities(const WindowScores& scores) const;

  /// What the scores say of one token alone, by how many of the shortest windows: m = 1, ..., k.
  /// Without scores, 10^(1 - m) tokens are expected to have been stored with just m.
  struct Depths {
    int32_t token = 0;
    std::vector<double> log_probability = {};  ///< log P(it was stored with m at least)
    /// log likelihood ratio, times pi_y: stored with m against stored with fewer.
    std::vector<double> evidence = {};
  };
  /// log of how many tokens are expected to have been stored with just m windows.
  static double log_expected(int64_t m);
  /// Of all tokens that may have been stored.
  std::vector<Depths> depths(const WindowScores& scores) const;

  double error_rate() const { return error_rate_; }

 private:
  /// A token that may have been stored as the next one.
  struct Candidate {
    int32_t token;
    double log_ratio;    ///< log pi_y L(y, i) at the depth reached, in nats
    double log_rival;    ///< log Z
    double log_weight;   ///< log of its part of M
    double best_weight;  ///< the largest term of that
    int64_t depth;       ///< whose it is
  };
  struct Posterior {
    std::vector<Candidate> candidates;
    double log_mixture;  ///< log M
  };
  Posterior posterior(const WindowScores& scores) const;
  std::vector<Candidate> candidates(const WindowScores& scores) const;
  double vote(float score) const;

  std::vector<double> prior_, log_prior_;
  double noise_;
  double error_rate_;
};

}  // namespace tessera
