#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/modules/common.h>
#include <torch/nn/modules/container/any_value.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "tessera/ops/key_value_extraction.h"

namespace tessera {

/// Two parameterisations of the same memories are published. They differ in initial values, in the
/// cap of the key scale and in the scale of the logits, not in what the network computes.
/// kPaper is the library behind the experiments of Zhang et al. 2024; kNano is nanoMosaics. With
/// kPaper's logits, divided by the square root of the width, an optimiser of Adam's kind needs that
/// many times as many steps to make one token more probable than another, so kNano learns sooner;
/// study memory-mosaics/small-budget compares them.
enum class Parameterisation { kPaper, kNano };
constexpr std::array<std::string_view, 2> enum_names(Parameterisation) {
  return {"paper", "nano"};
}

/// The per-head scalars (leak, log scales) are stored divided by this, so that an optimiser of
/// Adam's kind moves them ten times as fast as a weight.
constexpr double kScalarScaling = 10.0;

/// The readings' first log scale: the factor is exp(-0.5) = 0.607.
constexpr double kFirstLogScale = -0.5;

/// Added to every norm before dividing. Differs from the library behind the paper, which adds
/// nothing and turns a zero vector into NaN; nanoMosaics adds the same.
constexpr double kNormEpsilon = 1e-10;

/// What the memories of one network have in common.
struct MemoryOptions {
  int64_t channels = 0;  ///< C
  int64_t heads = 0;     ///< H; divides C
  bool bias = false;     ///< biases in the linear maps
  double dropout = 0;    ///< probability, on the smoothing weights and on the unit's output
  Parameterisation parameterisation = Parameterisation::kPaper;
  ops::Precision precision = ops::Precision::kFloat32;
  at::Device device = at::kCPU;  ///< of the parameters; on the meta device they have no memory

  /// Throws UsageError unless there are heads that divide the channels, and the dropout is in
  /// [0, 1).
  void check() const;
  int64_t head_width() const { return channels / heads; }
};

/// Keys of a memory unit: a linear map, its leaky average over time, normalised and scaled per head
/// (Zhang et al. 2024, eq. 6; the scale is the square root of the kernel bandwidth β).
class KeyExtractorImpl : public torch::nn::Cloneable<KeyExtractorImpl> {
 public:
  /// scale_power: 1 where keys are compared with keys, 2 where with slots, which have no scale.
  /// Throws as MemoryOptions::check.
  KeyExtractorImpl(const MemoryOptions& options, int scale_power);
  void reset() final;  ///< for clone(): registers new parameters, as in every memory

  /// x [B, T, C], T > 0; leaky_average [B, H, D] is that of an earlier call, undefined starts at 0.
  ops::Keys forward(const at::Tensor& x, const at::Tensor& leaky_average = {});

  /// The parameters as the ops take them; shared, so that changes are seen.
  ops::KeyParameters parameters_for_ops() const;

  /// Gives the per-head scalars their initial values.
  void reset_scalars();
  /// λ per head [H] in (0, 1]: exp(-|leak|).
  at::Tensor decay() const { return parameters_for_ops().decay(); }
  /// Factor of the normalised keys, [H].
  at::Tensor scale() const { return parameters_for_ops().scale.value(); }

  torch::nn::Linear projection = nullptr;
  at::Tensor leak;       ///< [H], stored divided by kScalarScaling
  at::Tensor log_scale;  ///< [H], stored divided by kScalarScaling

 private:
  MemoryOptions options_;
  int scale_power_;
};
TORCH_MODULE(KeyExtractor);

/// Values of a contextual memory: a linear map, averaged with its successor (the value peeks one
/// step ahead), normalised and scaled per head (Zhang et al. 2024, eq. 6).
/// Differs from eq. 6 as printed, whose value is recursive and starts at x_{T+1}: this is the
/// authors' code, and eq. 7 of the paper's May 2024 version with λ_ψ = (1 - c) / c.
class ValueExtractorImpl : public torch::nn::Cloneable<ValueExtractorImpl> {
 public:
  /// Throws as MemoryOptions::check.
  explicit ValueExtractorImpl(const MemoryOptions& options);
  void reset() final;

  /// x [B, T, C] -> raw values ṽ = W_ψ x, [B, T, H, D].
  at::Tensor raw(const at::Tensor& x);
  /// Raw values [B, T, H, D] -> values v_t = r Norm(c ṽ_t + (1 - c) ṽ_{t+1}), with ṽ_{T+1} = 0: the
  /// last one is not complete and must not be read.
  at::Tensor complete(const at::Tensor& raw);

  /// The parameters as the ops take them; shared, so that changes are seen.
  ops::ValueParameters parameters_for_ops() const;

  /// Gives the per-head scalars their initial values (`mix`: 0.5, which the networks then draw).
  void reset_scalars();
  /// Factor of the normalised values, [H].
  at::Tensor scale() const { return parameters_for_ops().scale.value(); }

  torch::nn::Linear projection = nullptr;
  at::Tensor mix;        ///< c per head, [H]: the share of the present
  at::Tensor log_scale;  ///< [H], stored divided by kScalarScaling

 private:
  MemoryOptions options_;
};
TORCH_MODULE(ValueExtractor);

}  // namespace tessera
