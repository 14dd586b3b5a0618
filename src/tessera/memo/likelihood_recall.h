#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/random.h"

namespace tessera::theory {

/// Predicts recall by likelihood ratio from a memory of bound windows, as LikelihoodDecoder
/// (memory/next_token.h) decodes: a window scores, give or take the noise, how often it was stored
/// with a token.
class LikelihoodRecall {
 public:
  /// prior [V]: positive weights of the tokens.
  explicit LikelihoodRecall(const std::vector<double>& prior);

  /// A token that was stored with a context.
  struct Stored {
    int32_t token = 0;
    std::vector<float> scores;  ///< by each of the context's windows, shortest first, without noise
  };
  /// Chance that the first of `stored`, all tokens that any of a context's windows was stored with,
  /// is decoded: a mean over draws of their noise, the noise of all other tokens averaged out.
  /// noise: standard deviation of one window's score, above 0. The same `random`, the same answer.
  double recall(std::span<const Stored> stored, double noise, RandomStream random) const;

 private:
  /// Tokens of about one prior.
  struct Group {
    double log_prior = 0;
    double tokens = 0;
  };
  /// What comes of one draw of the noise.
  struct Draw {
    std::vector<double> log_weights;  ///< of each stored token, its part of M
    std::vector<double> log_depths;   ///< log p_m B_m
  };
  Draw draw(std::span<const Stored> stored, double noise, RandomStream& random) const;
  std::vector<double> count_others(std::span<const Stored> stored) const;

  std::vector<double> log_prior_;
  std::vector<int32_t> group_of_token_;
  std::vector<Group> groups_;
};

}  // namespace tessera::theory
