#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <optional>

#include "tessera/memory/mosaic/extractors.h"
#include "tessera/ops/dropout.h"

namespace tessera {

/// The places in a unit that have dropout. Each draws a mask of its own from one seed.
enum class DropoutSite : uint64_t { kWeights, kOutput };

/// The dropout of one place in a unit; none without a seed.
ops::Dropout dropout_at(DropoutSite site, const MemoryOptions& options,
                        std::optional<uint64_t> seed);

/// Reads of all heads [B, T, H, D] -> W_o concat(reads) [B, T, C], then dropout.
/// Differs from the papers' text, which puts the dropout before this map: this is the authors'
/// code.
at::Tensor project_output(const at::Tensor& reads, torch::nn::Linear& projection,
                          const MemoryOptions& options, std::optional<uint64_t> dropout_seed);

}  // namespace tessera
