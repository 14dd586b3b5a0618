#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/memo/text_reader.h"

namespace tessera::test {

/// Scores of windows of these lengths, one row of `scores` each.
inline memo::WindowScores scores_of(std::vector<int64_t> lengths, std::vector<float> scores) {
  const auto windows = std::max<int64_t>(1, static_cast<int64_t>(lengths.size()));
  return {std::move(lengths), static_cast<int64_t>(scores.size()) / windows, scores};
}

}  // namespace tessera::test
