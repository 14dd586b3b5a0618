#pragma once

#include <cstdint>
#include <span>

#include "tessera/memo/window_scores.h"

namespace tessera::memo {

/// The paper's decoder: the token with the largest sum of scores over all windows (Zanzotto et al.
/// 2025, eq. 4 and sec. 3.2), the first of equals. It counts as recalled where the sum is above
/// noise sqrt(2 k ln V), about the largest sum that V tokens reach by noise alone. Its probability
/// is that of LikelihoodDecoder, if only the longest window is considered and all tokens have equal
/// prior probability. noise: TextMemory::noise().
NextToken by_score(const WindowScores& scores, double noise);

/// The same from sums [V], each token's sum of scores over windows of these lengths; window_scores
/// stays empty.
NextToken by_sum(std::span<const float> sums, std::span<const int64_t> lengths, double noise);

}  // namespace tessera::memo
