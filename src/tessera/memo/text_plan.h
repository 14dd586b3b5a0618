#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tessera/memo/recall_predictor.h"
#include "tessera/memo/text_memory_config.h"

namespace tessera::memo {

/// Chooses a size by a predictor: RecallPredictor::plan_for() an error, or plan_in() a dimension.
using SizeChoice = std::function<SizePlan(const RecallPredictor&)>;

/// The plan for a memory of these documents under config.code, in config.shards matrices, each of
/// the dimension planned. seed: of the positions it looks at.
SizePlan plan_memory(const std::vector<std::vector<int32_t>>& documents,
                     const TextMemoryConfig& config, uint64_t seed, const SizeChoice& choose);

/// The same in the number of shards for which time times size is least (S d^2 numbers, to d^2 of
/// which each pair is added), of 1, 4, 16, ...: one, if it has at most 2048 dimensions, else the
/// first that makes matrices of at most 1024, or fewer, if more would cost more. One under the
/// paper's code. config.shards becomes this number.
SizePlan plan_shards(const std::vector<std::vector<int32_t>>& documents, TextMemoryConfig& config,
                     uint64_t seed, const SizeChoice& choose);

}  // namespace tessera::memo
