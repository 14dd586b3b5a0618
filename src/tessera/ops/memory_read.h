#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::ops {

/// What one read of a memory gives.
struct MemoryReading {
  at::Tensor value;    ///< [B, H, D]
  at::Tensor weights;  ///< [B, H, N]: the softmax weights; zero beyond a row's count
};

/// Reads stored pairs with one query per head: the step of generation, one token at a time:
///   y = sum_{i < count} softmax_i(q . k_i) v_i,   0 where nothing is stored.
/// query [B, H, D], keys and values [B, H, N, D] -> [B, H, D]. Each head's pairs lie one after the
/// other, so that a read streams through memory; a view narrow(2, 0, N) of a larger store
/// [B, H, capacity, D] is read in place. counts [B] int64 (on the CPU), each in [0, N], says how
/// many pairs every batch row holds; undefined means N. A scale belongs on the query. Beside a
/// query of floats the pairs may be of any WeightType (ops/weights.h), keys and values of the same.
/// No gradient. Throws UsageError on a shape or dtype mismatch or a count outside [0, N].
at::Tensor memory_read(const at::Tensor& query, const at::Tensor& keys, const at::Tensor& values,
                       const at::Tensor& counts = {});

/// The same read, with the weights it gave to the stored pairs.
MemoryReading inspect_memory_read(const at::Tensor& query, const at::Tensor& keys,
                                  const at::Tensor& values, const at::Tensor& counts = {});

}  // namespace tessera::ops
