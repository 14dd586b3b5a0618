#pragma once

namespace tessera::ops::cpu {

struct LeakyAverageForward;
struct LeakyAverageBackward;
struct PeekAverageForward;
struct PeekAverageBackward;
struct ScaledUnitNormForward;
struct ScaledUnitNormBackward;
struct MemoryRead;
struct CrossEntropy;
struct RowProducts;
struct LayerNorm;
struct ContextStep;
struct PersistentStep;
struct ActivationDropout;
struct Tanh;
struct TanhGradient;
struct GatedWrite;
struct GatedWriteBackward;
struct AttentionFactors;
struct AttentionFactorsBackward;

/// The fused loops as one instruction set has them. They run on OpenMP's threads; their results do
/// not depend on how many those are.
struct Loops {
  void (*leaky_average_forward)(const LeakyAverageForward&);
  void (*leaky_average_backward)(const LeakyAverageBackward&);
  void (*peek_average_forward)(const PeekAverageForward&);
  void (*peek_average_backward)(const PeekAverageBackward&);
  void (*scaled_unit_norm_forward)(const ScaledUnitNormForward&);
  void (*scaled_unit_norm_backward)(const ScaledUnitNormBackward&);
  void (*memory_read)(const MemoryRead&);
  void (*cross_entropy)(const CrossEntropy&);
  void (*row_products)(const RowProducts&);
  void (*layer_norm)(const LayerNorm&);
  void (*context_step)(const ContextStep&);
  void (*persistent_step)(const PersistentStep&);
  void (*activation_dropout)(const ActivationDropout&);
  void (*tanh)(const Tanh&);
  void (*add_tanh_gradient)(const TanhGradient&);
  void (*gated_write_forward)(const GatedWrite&);
  void (*gated_write_backward)(const GatedWriteBackward&);
  void (*attention_factors_forward)(const AttentionFactors&);
  void (*attention_factors_backward)(const AttentionFactorsBackward&);
};

/// The fastest loops in float that may run here (AVX-512, else AVX2), or null.
const Loops* loops();

}  // namespace tessera::ops::cpu
