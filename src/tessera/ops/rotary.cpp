#include "tessera/ops/rotary.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>

#include "tessera/tensor/check.h"

namespace tessera::ops {

at::Tensor rotary(const at::Tensor& x, const std::vector<int64_t>& first_positions, double base) {
  check_sequence(x, "rotary: x");
  const int64_t D = x.size(3);
  TESSERA_CHECK(D % 2 == 0, "rotary: head width is ", D, ", expected an even number");
  const auto rows = std::ssize(first_positions);
  TESSERA_CHECK(rows == x.size(0), "rotary: there are ", rows, " first positions for ", x.size(0),
                " rows");
  const bool equal = std::adjacent_find(first_positions.begin(), first_positions.end(),
                                        std::not_equal_to<>()) == first_positions.end();
  const auto doubles = x.options().dtype(at::kDouble).requires_grad(false);
  const at::Tensor first = at::tensor(first_positions, at::kLong).to(doubles).unsqueeze(1);
  const at::Tensor positions =  // [B, T]; [1, T] where all rows have the same
      (equal ? first.slice(0, 0, 1) : first) + at::arange(x.size(1), doubles);
  const at::Tensor frequencies = at::pow(base, at::arange(0, D, 2, doubles) * (-1.0 / D));
  const at::Tensor angles = positions.unsqueeze(-1).unsqueeze(-1) * frequencies;  // [B, T, 1, D/2]
  const at::Tensor cosines = angles.cos().to(x.scalar_type());
  const at::Tensor sines = angles.sin().to(x.scalar_type());
  const at::Tensor left = x.narrow(3, 0, D / 2), right = x.narrow(3, D / 2, D / 2);
  return at::cat({left * cosines - right * sines, right * cosines + left * sines}, 3);
}

}  // namespace tessera::ops
