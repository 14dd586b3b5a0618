#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <optional>

#include "tessera/memory/mosaic/memory_options.h"
#include "tessera/ops/dropout.h"

namespace tessera {

/// Where a unit drops out, so that each place draws its own mask from one seed.
enum class DropoutSite : uint64_t { kWeights, kOutput };

/// The dropout of one place in a unit; none without a seed.
ops::Dropout dropout_of(const MemoryOptions& options, std::optional<uint64_t> seed,
                        DropoutSite site);

/// The map that combines the heads, [C, C].
torch::nn::Linear make_output(const MemoryOptions& options);

/// Reads of all heads [B, T, H, D] -> W_o concat(reads) [B, T, C], then dropout. The papers' text
/// puts the dropout before this map; the authors' code, which we follow, after it.
at::Tensor combine_heads(const at::Tensor& reads, torch::nn::Linear& output,
                         const MemoryOptions& options, std::optional<uint64_t> dropout_seed);

}  // namespace tessera
