#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/memo/detail/depth_mixture.h"

namespace tessera::memo {

/// Predicts how often LikelihoodDecoder is right on a memory of bound windows, where a window
/// scores the number of times that it was stored with a token, plus normal noise.
class LikelihoodRecall {
 public:
  /// prior [V]: positive weights of the tokens.
  explicit LikelihoodRecall(const std::vector<double>& prior);

  /// A token that was stored with a context.
  struct Stored {
    int32_t token = 0;
    std::vector<float> scores;  ///< by each of the context's windows, shortest first, without noise
  };
  /// Probability that the first of `stored` is decoded. `stored`: all tokens that any of a
  /// context's windows was stored with. A mean over draws of their noise; the noise of all other
  /// tokens is averaged out. noise: the standard deviation of each window's scores, above 0, in the
  /// order of their scores. Equal `random`, equal answer.
  double recall(std::span<const Stored> stored, std::span<const double> noise,
                RandomStream random) const;

 private:
  /// Tokens of about equal prior.
  struct Group {
    double log_prior = 0;
    double tokens = 0;
  };
  DepthMixture draw(std::span<const Stored> stored, std::span<const double> noise,
                    RandomStream& random) const;
  std::vector<double> count_others(std::span<const Stored> stored) const;

  std::vector<double> log_prior_;
  std::vector<int32_t> group_of_token_;
  std::vector<Group> groups_;
};

}  // namespace tessera::memo
