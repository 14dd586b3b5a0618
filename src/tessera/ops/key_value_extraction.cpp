#include "tessera/ops/key_value_extraction.h"

#include <ATen/ATen.h>

#include <cmath>

#include "tessera/ops/leaky_average.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/peek_average.h"
#include "tessera/ops/scaled_unit_norm.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

/// y [B, T, H, D] of all heads.
at::Tensor project(const at::Tensor& x, const LinearMap& map, int64_t H, Precision precision) {
  const at::Tensor y = linear(x, map.weight, map.bias, precision);  // [B, T, C]
  TESSERA_CHECK(x.dim() == 3 && H > 0 && y.size(-1) % H == 0, "keys and values: x ", x.sizes(),
                " gives ", y.size(-1), " channels for ", H,
                " heads; expected [B, T, C] and a multiple of the heads");
  return y.unflatten(-1, {H, y.size(-1) / H});
}

}  // namespace

at::Tensor HeadFactor::value() const {
  const at::Tensor logarithm = slope * x;
  return (std::isinf(bound) ? logarithm : logarithm.clamp_max(bound)).exp();
}

at::Tensor KeyParameters::decay() const {
  return (-leak_scale * leak.abs()).exp();
}

Keys extract_keys(const at::Tensor& x, const KeyParameters& parameters,
                  const at::Tensor& leaky_average, Precision precision) {
  const at::Tensor raw =
      project(x, parameters.projection, parameters.leak.size(0), precision);  // [B, T, H, D]
  const at::Tensor averages = ops::leaky_average(raw, parameters.decay(), leaky_average);
  return {scaled_unit_norm(averages, parameters.scale.value(), parameters.epsilon),
          averages.select(1, -1)};
}

at::Tensor raw_values(const at::Tensor& x, const ValueParameters& parameters, Precision precision) {
  return project(x, parameters.projection, parameters.mix.size(0), precision);
}

at::Tensor complete_values(const at::Tensor& raw, const ValueParameters& parameters) {
  return scaled_unit_norm(peek_average(raw, parameters.mix), parameters.scale.value(),
                          parameters.epsilon);
}

}  // namespace tessera::ops
