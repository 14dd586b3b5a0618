#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/data/token_memory.h"
#include "tessera/memo/text_reader.h"

namespace tessera::memo {

class DepthMixture;

/// Decodes by likelihood ratio. A context has depth m if its m shortest windows were stored and the
/// longer ones were not; the token that follows was stored with all m of them, other tokens with
/// fewer. Against "nothing was stored", a token y stored with the i shortest windows has the
/// likelihood ratio
///   L(y, i) = exp sum over j <= i of (s_j(y) - 1/2) / noise^2        for normal scores.
/// DepthMixture sums these to M, the likelihood ratio of "a stored text continues here"; pi is the
/// tokens' prior. So what the short windows say for a token counts once: of two tokens that were
/// both stored with them, the longer windows alone decide.
///
/// If nothing was stored, the mean of M is at most 1, so M > 1 / error_rate has probability at most
/// error_rate (Markov): then, and only then, the token counts as recalled. Tokens with
/// pi_y L(y, i) below e^-14 for all i count as not stored. Under the paper code a window that
/// shares parts with stored ones counts as partly stored; there the error rate holds for contexts
/// that share none.
///
/// What reads scores throws UsageError where they are of another number of tokens than the prior.
class LikelihoodDecoder {
 public:
  /// prior [V]: positive weights of the tokens (counts + 1, say). noise: TextMemory::noise(), the
  /// mean over all windows; a window whose scores are noisier (WindowScores::noise()) counts less.
  /// error_rate, in (0, 1): how often a context that was never stored may count as recalled.
  /// Throws UsageError on other values.
  LikelihoodDecoder(std::vector<double> prior, double noise, double error_rate);

  /// The most probable token if a stored text continues here; the first of equals.
  NextToken best(const WindowScores& scores) const;
  /// [V], logs of what sums to 1: the posterior if "nothing was stored", under which the next token
  /// follows the prior, is as likely beforehand as "something was".
  std::vector<double> log_probabilities(const WindowScores& scores) const;

  /// What a recital asks of one token, on its own: whether it was stored with at least m of the k
  /// windows, the shortest. Before the scores are seen, 10^(1 - m) tokens are expected to have been
  /// stored with exactly m.
  struct Depth {
    int32_t token = 0;
    double log_probability = 0;  ///< log P(it was)
    /// log of pi_y times the likelihood ratio of "stored with m" against "stored with fewer".
    double evidence = 0;
  };
  /// log of how many tokens are expected to have been stored with exactly m windows.
  static double log_expected(int64_t m);
  /// Of all tokens that may have been stored whose log_probability is less than `within` nats below
  /// the largest. m in 1..k.
  std::vector<Depth> depths(const WindowScores& scores, int64_t m, double within) const;

  /// What a memory tells somebody who has a distribution pi of the next token already, if the
  /// context has one depth m: for each window, shortest first, unless no token may have been
  /// stored. log_ratio: DepthMixture::log_depth_ratio(). A window may have been stored with several
  /// tokens; they are equally probable as far as they surely were: o / (1 + o), divided by the sum,
  /// where o = pi_y L(y, m) / Z_m(y). log_prior [V]: log pi, in nats, used in place of the
  /// decoder's prior.
  std::vector<StoredContinuation> by_length(const WindowScores& scores,
                                            std::span<const double> log_prior) const;

  /// [V], summing to 1.
  const std::vector<double>& prior() const { return prior_; }
  double error_rate() const { return error_rate_; }

 private:
  Depth depth_of(const WindowScores& scores, int32_t token, int64_t m) const;
  bool may_be_stored(const WindowScores& scores, size_t token) const;
  std::vector<double> largest_ratios(const WindowScores& scores, std::span<const double> log_prior,
                                     std::span<const double> bonus) const;
  DepthMixture candidates(const WindowScores& scores, std::span<const double> log_prior) const;
  DepthMixture mixture(const WindowScores& scores) const;
  void add_window(DepthMixture& mixture, const WindowScores& scores, int64_t window) const;
  double noise_of(const WindowScores& scores, int64_t window) const;

  std::vector<double> prior_, log_prior_;
  double noise_;
  double error_rate_;
};

}  // namespace tessera::memo
