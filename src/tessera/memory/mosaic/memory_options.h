#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "tessera/ops/linear.h"

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

  int64_t head_width() const { return channels / heads; }
  /// Standard deviation of a linear map's initial weights.
  double weight_deviation() const {
    return parameterisation == Parameterisation::kPaper ? 1.0 / std::sqrt(channels) : 0.02;
  }
};

}  // namespace tessera
