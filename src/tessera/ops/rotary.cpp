#include "tessera/ops/rotary.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>

#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

/// x [B, T, H, D] turned by its positions [B or 1, T].
at::Tensor turned(const at::Tensor& x, const at::Tensor& positions, double base) {
  const int64_t D = x.size(3);
  TESSERA_CHECK(D % 2 == 0, "rotary: head width is ", D, ", expected an even number");
  const at::Tensor frequencies =
      at::pow(base, at::arange(0, D, 2, positions.options()) * (-1.0 / D));
  const at::Tensor angles = positions.unsqueeze(-1).unsqueeze(-1) * frequencies;  // [B, T, 1, D/2]
  const at::Tensor cosines = angles.cos().to(x.scalar_type());
  const at::Tensor sines = angles.sin().to(x.scalar_type());
  const at::Tensor first = x.narrow(3, 0, D / 2), second = x.narrow(3, D / 2, D / 2);
  return at::cat({first * cosines - second * sines, second * cosines + first * sines}, 3);
}

/// T consecutive positions from 0 on, double, on the device of x.
at::Tensor steps_of(const at::Tensor& x) {
  return at::arange(x.size(1), x.options().dtype(at::kDouble).requires_grad(false));
}

}  // namespace

at::Tensor rotary(const at::Tensor& x, int64_t first_position, double base) {
  check_sequence(x, "rotary: x");
  return turned(x, (steps_of(x) + first_position).unsqueeze(0), base);
}

at::Tensor rotary(const at::Tensor& x, const std::vector<int64_t>& first_positions, double base) {
  check_sequence(x, "rotary: x");
  const auto rows = static_cast<int64_t>(first_positions.size());
  TESSERA_CHECK(rows == x.size(0), "rotary: there are ", rows, " first positions for ", x.size(0),
                " rows");
  if (std::adjacent_find(first_positions.begin(), first_positions.end(), std::not_equal_to<>()) ==
      first_positions.end())
    return rotary(x, rows > 0 ? first_positions.front() : 0, base);  // one angle for all rows
  const at::Tensor steps = steps_of(x);
  const at::Tensor first = at::tensor(first_positions, at::kLong).to(steps.options());
  return turned(x, first.unsqueeze(1) + steps, base);
}

}  // namespace tessera::ops
