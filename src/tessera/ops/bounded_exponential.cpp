#include "tessera/ops/bounded_exponential.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "tessera/ops/fused.h"

namespace tessera::ops {
namespace {

/// A step of generation needs a handful of these for a handful of heads, so that calling tensor
/// functions would cost more than reading a weight matrix.
at::Tensor fused(const at::Tensor& x, float slope, float bound) {
  const at::Tensor from = x.contiguous(), y = at::empty(x.sizes(), x.options());
  const float* in = from.data_ptr<float>();
  float* out = y.data_ptr<float>();
  for (int64_t k = 0; k < x.numel(); ++k) out[k] = std::exp(std::min(slope * in[k], bound));
  return y;
}

}  // namespace

at::Tensor bounded_exponential(const at::Tensor& x, double slope, double bound) {
  TORCH_CHECK_VALUE(x.defined() && x.is_floating_point(),
                    "bounded_exponential: x must be a floating-point tensor");
  if (fused_loops({x}) && !recorded({x}))
    return fused(x, static_cast<float>(slope), static_cast<float>(bound));
  return (slope * x).clamp_max(bound).exp();
}

}  // namespace tessera::ops
