#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tessera/ops/key_value_extraction.h"
#include "tessera/ops/number_formats.h"

namespace tessera::ops {

// One step in time of a memory unit, as in generation, for B sequences of H heads of D channels,
// C = H * D. A few sequences of floats on the CPU take one loop over the heads, which reads every
// parameter once, as it is stored and without rounding; at this size each tensor function costs as
// much as reading a small matrix. Everything else is composed of tensor functions. No gradient.
// Matrices and slots may be of any WeightType (ops/weights.h), those of one step all of the same;
// so may stored pairs, of one of their own.

/// What a contextual memory has learned.
struct ContextParameters {
  KeyParameters key;
  ValueParameters value;
  LinearMap output;  ///< [C, C]
};

/// What a contextual memory keeps of its last step: each [B, H, D].
struct ContextCarry {
  at::Tensor leaky_key;  ///< from which the next key goes on
  at::Tensor key;        ///< waits for its value, which needs the next step
  at::Tensor raw_value;
};

/// Stored pairs, and where one pair more goes in each row.
struct PairStorage {
  at::Tensor keys, values;      ///< [B, H, capacity, D], contiguous, of the same WeightType
  std::vector<int64_t> slots;   ///< [B], in [0, capacity)
  std::vector<int64_t> counts;  ///< [B]: pairs of each row with the new one, in [1, capacity]
};

/// What context_step() gives.
struct ContextStep {
  at::Tensor y;        ///< [B, 1, C]
  ContextCarry carry;  ///< for the next step
};

/// A contextual memory (Zhang et al. 2024, eq. 6 and 7): the pair of the last step, which this step
/// completes, is stored; then this step's key reads the first counts[b] pairs of each row.
/// x [B, 1, C]. Changes nothing but the new pair's place, storage.keys and storage.values
/// [b, :, slots[b], :]. Throws UsageError on a shape or dtype mismatch, a slot or a count out
/// of range and, where it is composed, on numbers that 8 bits cannot keep (the loop stores what is
/// read as NaN); changes nothing then.
ContextStep context_step(const at::Tensor& x, const ContextParameters& parameters,
                         const ContextCarry& last, const PairStorage& storage,
                         Precision precision = Precision::kFloat32);

/// What a persistent memory has learned.
struct PersistentParameters {
  KeyParameters key;
  at::Tensor slot_keys, slot_values;  ///< [P, H, M, D]
  HeadFactor scale;                   ///< of the reading
  LinearMap output;                   ///< [C, C]
};

/// What persistent_step() gives.
struct PersistentStep {
  at::Tensor y;          ///< [B, 1, C]
  at::Tensor leaky_key;  ///< [B, H, D], for the next step
};

/// A persistent memory (Zhang et al. 2024, appendix D.1): the mean of what P memories of M slots a
/// head answer, scaled. x [B, 1, C]; leaky_key [B, H, D] is that of the last step, undefined at the
/// first. Throws UsageError on a shape or dtype mismatch.
PersistentStep persistent_step(const at::Tensor& x, const PersistentParameters& parameters,
                               const at::Tensor& leaky_key,
                               Precision precision = Precision::kFloat32);

}  // namespace tessera::ops
