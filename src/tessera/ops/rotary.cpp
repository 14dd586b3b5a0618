#include "tessera/ops/rotary.h"

#include <ATen/ATen.h>

#include "tessera/ops/check_sequence.h"

namespace tessera::ops {

at::Tensor rotary(const at::Tensor& x, int64_t first_position, double base) {
  check_sequence(x, "rotary: x");
  const int64_t T = x.size(1), D = x.size(3);
  TORCH_CHECK_VALUE(D % 2 == 0, "rotary: head width is ", D, ", expected an even number");
  const auto real = x.options().dtype(at::kDouble).requires_grad(false);
  const at::Tensor frequencies = at::pow(base, at::arange(0, D, 2, real) * (-1.0 / D));
  const at::Tensor positions = at::arange(first_position, first_position + T, real);
  const at::Tensor angles = positions.view({T, 1, 1}) * frequencies;  // [T, 1, D/2]
  const at::Tensor cosines = angles.cos().to(x.scalar_type());
  const at::Tensor sines = angles.sin().to(x.scalar_type());
  const at::Tensor first = x.narrow(3, 0, D / 2), second = x.narrow(3, D / 2, D / 2);
  return at::cat({first * cosines - second * sines, second * cosines + first * sines}, 3);
}

}  // namespace tessera::ops
