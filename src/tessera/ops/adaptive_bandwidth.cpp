#include "tessera/ops/adaptive_bandwidth.h"

#include <ATen/ATen.h>

#include "tessera/tensor/check.h"

namespace tessera::ops {

at::Tensor adaptive_bandwidth(const at::Tensor& pairs, const AdaptiveBandwidth& parameters) {
  TESSERA_CHECK(pairs.defined() && pairs.is_floating_point(),
                "adaptive_bandwidth: pairs must be a floating-point tensor");
  const at::Tensor& exponent = parameters.exponent;
  check_like(exponent, {-1}, pairs, "adaptive_bandwidth: exponent");
  check_like(parameters.offset.x, {exponent.size(0)}, pairs, "adaptive_bandwidth: offset");
  check_like(parameters.factor.x, {exponent.size(0)}, pairs, "adaptive_bandwidth: factor");
  const at::Tensor logarithms = pairs.clamp_min(1).log().unsqueeze(-1);  // [.., 1]
  const at::Tensor power = (exponent.abs().clamp_max(1) * logarithms).exp();
  return parameters.factor.value() * power + parameters.offset.value();
}

}  // namespace tessera::ops
