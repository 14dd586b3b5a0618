#include "lab/learner/moons/complex_linear.h"

#include <ATen/ATen.h>

#include "tessera/ops/linear.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

/// The same map over the reals: a block ((re, -im), (im, re)) for each weight. [out, in, 2] ->
/// [2 out, 2 in].
at::Tensor real_matrix(const at::Tensor& weight) {
  const at::Tensor real = weight.select(-1, 0), imaginary = weight.select(-1, 1);
  const at::Tensor upper = at::stack({real, -imaginary}, -1);  // [out, in, 2]
  const at::Tensor lower = at::stack({imaginary, real}, -1);
  return at::stack({upper, lower}, 1).reshape({2 * weight.size(0), 2 * weight.size(1)});
}

}  // namespace

at::Tensor complex_linear(const at::Tensor& x, const at::Tensor& weight) {
  check_shape(weight, {-1, -1, 2}, "complex_linear: weight");
  TESSERA_CHECK(x.dim() > 0 && x.size(-1) == 2 * weight.size(1), "complex_linear: x has shape ",
                x.sizes(), ", expected ", 2 * weight.size(1), " channels: a real and an ",
                "imaginary part for each of ", weight.size(1), " inputs");
  TESSERA_CHECK(x.scalar_type() == weight.scalar_type(), "complex_linear: x has type ",
                x.scalar_type(), ", weight ", weight.scalar_type(), "; they must be equal");
  return ops::linear(x, real_matrix(weight));
}

}  // namespace tessera::ops
