#pragma once

#include <ATen/ATen.h>

#include "tessera/ops/number_formats.h"

namespace tessera::ops {

/// a @ b, its operands rounded as `precision` says, in the dtype of `a`.
inline at::Tensor rounded_matmul(const at::Tensor& a, const at::Tensor& b, Precision precision) {
  if (precision == Precision::kFloat32) return at::matmul(a, b);
  return at::matmul(a.to(at::kBFloat16), b.to(at::kBFloat16)).to(a.scalar_type());
}

}  // namespace tessera::ops
