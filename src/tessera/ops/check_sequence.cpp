#include "tessera/ops/check_sequence.h"

#include <ATen/ATen.h>

#include "tessera/tensor/check.h"
#include "tessera/tensor/check_shape.h"

namespace tessera::ops {

void check_sequence(const at::Tensor& x, const char* what) {
  check_shape(x, {-1, -1, -1, -1}, what);
  TESSERA_CHECK(x.is_floating_point(), what, " has dtype ", x.scalar_type(),
                ", expected a floating-point tensor [B, T, H, D]");
}

void check_vectors(const at::Tensor& x, const char* what) {
  check_shape(x, {-1, -1, -1}, what);
  TESSERA_CHECK(x.is_floating_point(), what, " has dtype ", x.scalar_type(),
                ", expected a floating-point tensor");
}

void check_like(const at::Tensor& tensor, std::initializer_list<int64_t> sizes,
                const at::Tensor& reference, const char* what) {
  check_shape(tensor, sizes, what);
  TESSERA_CHECK(
      tensor.scalar_type() == reference.scalar_type() && tensor.device() == reference.device(),
      what, " is ", tensor.scalar_type(), " on ", tensor.device(), ", expected ",
      reference.scalar_type(), " on ", reference.device(), " as the other arguments");
}

}  // namespace tessera::ops
