#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

namespace tessera::ops {

/// What a retention has read: S [B, H, D, E], the decayed sum of its keys times values.
struct Retained {
  at::Tensor reads;  ///< [B, T, H, E]
  at::Tensor state;  ///< [B, H, D, E]
};

/// Throws UsageError unless these go together: queries, keys [B, T, H, D], values [B, T, H, E],
/// state [B, H, D, E] or undefined, all of one dtype, and chunk >= 1. op: for messages.
void check_chunks(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                  const at::Tensor& state, int64_t chunk, const std::string& op);

/// The steps of one chunk: [B, T, H, ..] -> [B, H, t, ..].
using StepsOfChunk = std::function<at::Tensor(const at::Tensor& x)>;
/// Linear attention chunk after chunk, from `state` or zeros: `read` gives the reads of a chunk,
/// [B, H, t, E], and the state after it.
Retained read_in_chunks(
    const at::Tensor& queries, const at::Tensor& values, const at::Tensor& state, int64_t chunk,
    const std::function<Retained(const StepsOfChunk& steps, const at::Tensor& state)>& read);

/// Retention (Sun et al. 2023, eq. 5–7): linear attention that forgets,
///   S_t = gamma_h S_{t-1} + k_t v_t^T,   y_t = S_t^T q_t = sum_{i <= t} gamma_h^{t-i} (q_t . k_i)
///   v_i.
/// queries, keys [B, T, H, D], values [B, T, H, E], decays [H] in (0, 1), state [B, H, D, E]: S
/// before the first step, undefined for zeros. Differentiable in queries, keys, values and state.
///
/// Inside a chunk of steps the sum is computed as such (parallel form, eq. 5), from chunk to chunk
/// as S (recurrent form, eq. 6): the time grows with T, not with its square. T = 1 is the recurrent
/// step, T <= chunk with no state the parallel form. Throws UsageError on a shape or dtype
/// mismatch, on decays that require a gradient, and unless chunk >= 1.
Retained retention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                   const at::Tensor& decays, const at::Tensor& state = {}, int64_t chunk = 128);

}  // namespace tessera::ops
