#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace tessera::ops {

/// Rotary positions (Su et al. 2021) in the half-split form of GPT-NeoX: channels j and j + D/2 of
/// a head form a pair, turned by the angle (first_position + t) * base^(-2j/D), t = 0, 1, …, where
/// each of the B rows has a first position of its own. x [B, T, H, D], D even -> [B, T, H, D].
/// Differentiable in x. Throws UsageError on a wrong rank, an odd D, and unless there are B
/// positions.
at::Tensor rotary(const at::Tensor& x, const std::vector<int64_t>& first_positions,
                  double base = 10000.0);

}  // namespace tessera::ops
