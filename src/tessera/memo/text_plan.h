#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tessera/memo/recall_predictor.h"
#include "tessera/memo/text_memory_config.h"

namespace tessera::memo {

/// Chooses a size by a predictor: RecallPredictor::plan_for() an error, or plan_in() a dimension.
using SizeChoice = std::function<SizePlan(const RecallPredictor&)>;

/// A plan for one way to make keys of windows.
struct TextPlan {
  std::string keys;  ///< how keys are made, in words
  SizePlan size;
};

/// How large a memory of these documents must be with each kind of keys: the paper's, whose windows
/// share parts; an independent key for each window; bound windows (BoundCode). The first two take
/// the documents as one text. config: heads, layers and vocabulary count. Throws
/// std::invalid_argument as the predictors do.
std::vector<TextPlan> plan_text(const std::vector<std::vector<int32_t>>& documents,
                                const TextMemoryConfig& config, uint64_t seed,
                                const SizeChoice& choose);

/// The plan for a memory of these documents under config.code. seed: of the positions it looks at.
SizePlan plan_memory(const std::vector<std::vector<int32_t>>& documents,
                     const TextMemoryConfig& config, uint64_t seed, const SizeChoice& choose);

}  // namespace tessera::memo
