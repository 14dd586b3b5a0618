#pragma once

#include <ATen/core/Tensor.h>

#include <limits>

#include "tessera/ops/number_formats.h"

namespace tessera::ops {

/// Leaky average over time, one decay per head (Zhang et al. 2024, the keys of a contextual
/// memory):  y_t = x_t + decay_h * y_{t-1}.
/// x [B, T, H, D], decay [H] in [0, 1] -> [B, T, H, D]. initial [B, H, D] is y_0 (zero when
/// undefined), so that a sequence may be read in pieces: the last y of one is the next's initial.
/// Differentiable in all three. Throws UsageError on a shape or dtype mismatch.
at::Tensor leaky_average(const at::Tensor& x, const at::Tensor& decay,
                         const at::Tensor& initial = {});

/// Leaky average whose gain and decay come with every step, one of each per head (Zhang & Bottou
/// 2025, gated keys):  y_t = gain_t * x_t + decay_t * y_{t-1}.
/// x [B, T, H, D], gain, decay [B, T, H] -> [B, T, H, D]; initial as above. Differentiable in all
/// four. Throws UsageError on a shape or dtype mismatch.
at::Tensor gated_leaky_average(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& decay,
                               const at::Tensor& initial = {});

/// Average with a peek one step ahead, one mix per head (Zhang et al. 2024, the values of a
/// contextual memory):  y_t = mix_h * x_t + (1 - mix_h) * x_{t+1},  with x_{T+1} = 0.
/// x [B, T, H, D], mix [H], any real -> [B, T, H, D]. Differentiable in both.
/// Throws UsageError on a shape or dtype mismatch.
at::Tensor peek_average(const at::Tensor& x, const at::Tensor& mix);

/// Brings every head's vector to one length:  y = scale_h * x / (|x| + epsilon), |x| Euclidean over
/// the last dimension (Zhang et al. 2024, Norm of keys and values).
/// x [.., H, D], scale [H] -> [.., H, D]. Differentiable in both; at x = 0 the norm's own gradient
/// is taken as zero, so dx = scale_h / epsilon * dy there. epsilon 0 makes a zero vector NaN. The
/// loops for floats on the CPU (AVX2 and later) bear any finite |x|, however large; elsewhere one
/// whose square is beyond the largest number of the dtype counts as infinite, and y is 0. One whose
/// square is below the smallest number of the dtype (|x| < 1e-22 for floats) counts as 0.
/// Throws UsageError on a shape or dtype mismatch or a negative epsilon.
at::Tensor scaled_unit_norm(const at::Tensor& x, const at::Tensor& scale, double epsilon);

/// A linear map of the last dimension, y = x weight^T + bias.
struct LinearMap {
  at::Tensor weight;  ///< [out, in]
  at::Tensor bias;    ///< [out] or undefined
};

/// A positive factor for each head, given by the parameter that is trained:
/// exp(min(slope * x_h, bound)).
struct HeadFactor {
  at::Tensor x;  ///< [H]
  double slope = 1;
  double bound = std::numeric_limits<double>::infinity();

  at::Tensor value() const;  ///< [H]
};

/// How the keys of a memory come from its input (Zhang et al. 2024, eq. 6), for H heads of D
/// channels, C = H * D:
///   k_t = scale_h Norm(k̄_t),  k̄_t = W_φ x_t + λ_h k̄_{t-1},  λ_h = exp(-leak_scale |leak_h|).
struct KeyParameters {
  LinearMap projection;  ///< W_φ [C, C]
  at::Tensor leak;       ///< [H]
  double leak_scale = 1;
  HeadFactor scale;
  double epsilon = 0;  ///< added to the norm

  at::Tensor decay() const;  ///< λ [H]
};

struct Keys {
  at::Tensor keys;           ///< [B, T, H, D]
  at::Tensor leaky_average;  ///< k̄ [B, H, D] after the last step, from which the next step goes on
};

/// x [B, T, C], T > 0; leaky_average [B, H, D] is that of an earlier call, undefined starts at 0.
/// Differentiable. Throws UsageError on a shape or dtype mismatch.
Keys extract_keys(const at::Tensor& x, const KeyParameters& parameters,
                  const at::Tensor& leaky_average, Precision precision);

/// How the values of a contextual memory come from its input (Zhang et al. 2024, eq. 6):
///   v_t = scale_h Norm(mix_h ṽ_t + (1 - mix_h) ṽ_{t+1}),  ṽ_t = W_ψ x_t,  ṽ_{T+1} = 0.
struct ValueParameters {
  LinearMap projection;  ///< W_ψ [C, C]
  at::Tensor mix;        ///< [H]
  HeadFactor scale;
  double epsilon = 0;  ///< added to the norm
};

/// x [B, T, C] -> ṽ [B, T, H, D]. Differentiable. Throws UsageError on a shape or dtype
/// mismatch.
at::Tensor raw_values(const at::Tensor& x, const ValueParameters& parameters, Precision precision);

/// ṽ [B, T, H, D] -> v [B, T, H, D]; the last one lacks what follows it. Differentiable. Throws
/// UsageError on a shape or dtype mismatch.
at::Tensor complete_values(const at::Tensor& raw, const ValueParameters& parameters);

/// The bandwidth of a smoothing kernel that grows narrower as the memory fills (Zhang & Bottou
/// 2025, adaptive bandwidth), one per head:  beta(n) = factor n^alpha + offset,
/// alpha = min(|exponent|, 1), for n stored pairs.
struct AdaptiveBandwidth {
  HeadFactor offset;    ///< beta_0
  HeadFactor factor;    ///< beta_1
  at::Tensor exponent;  ///< [H]
};

/// pairs: n, a tensor of any shape [..] and floating-point type; where nothing is stored, n = 0, as
/// for one pair -> beta [.., H]. Differentiable in the parameters. Throws UsageError where these
/// are not all [H] of the type of `pairs`.
at::Tensor adaptive_bandwidth(const at::Tensor& pairs, const AdaptiveBandwidth& parameters);

}  // namespace tessera::ops
