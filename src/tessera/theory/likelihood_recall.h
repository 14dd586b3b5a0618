#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/random.h"

namespace tessera::theory {

/// Predicts recall by likelihood ratio from a memory of bound windows, as LikelihoodDecoder
/// (memory/next_token.h) decodes: where a context was stored with all its k windows, each scores 1
/// for a token that it was stored with and 0 for others, give or take the noise.
class LikelihoodRecall {
 public:
  /// prior [V]: positive weights of the tokens.
  explicit LikelihoodRecall(const std::vector<double>& prior);

  /// A token that was stored with the `depth` shortest windows of a context.
  struct Stored {
    int32_t token = 0;
    int32_t depth = 0;
  };
  /// Chance that `right`, whose depth is k, counts more than every other token: a mean over draws
  /// of its noise and the rivals', the noise of all others averaged out. noise: standard deviation
  /// of one window's score, above 0. The same `random`, the same answer.
  double recall(Stored right, std::span<const Stored> rivals, double noise,
                RandomStream random) const;

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
  Draw draw(std::span<const Stored> stored, int32_t windows, double noise,
            RandomStream& random) const;
  std::vector<double> count_others(Stored right, std::span<const Stored> rivals) const;

  std::vector<double> log_prior_;
  std::vector<int32_t> group_of_token_;
  std::vector<Group> groups_;
};

}  // namespace tessera::theory
