#pragma once

#include <cstdint>
#include <vector>

namespace tessera::memo {

/// The token that a memory expects next, and how sure it is.
struct NextToken {
  int32_t token = 0;
  double score = 0;        ///< sum of the token's scores over the windows that were matched
  double probability = 0;  ///< of the token; includes the chance that nothing was stored here
  double evidence = 0;     ///< log M, in nats: "a stored text continues here" against "none does"
  int64_t matched_length = 0;  ///< tokens of the longest window matched; 0: probably none
  bool recalled = false;       ///< whether the evidence is above the threshold; else it is a guess
  std::vector<float> window_scores;  ///< the token's score in each window, shortest window first
};

}  // namespace tessera::memo
