#include "tessera/ops/alibi_slopes.h"

#include <ATen/ATen.h>

#include <bit>

#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

/// 2^(-8/count), 2^(-16/count), …, 2^-8.
at::Tensor geometric(int64_t count) {
  return at::pow(2.0, at::arange(1, count + 1, at::kDouble) * (-8.0 / static_cast<double>(count)));
}

}  // namespace

at::Tensor alibi_slopes(int64_t heads) {
  TESSERA_CHECK(heads >= 1, "alibi_slopes: heads is ", heads, ", expected 1 or more");
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  const at::Tensor between = geometric(2 * power).slice(0, 0, 2 * (heads - power), 2);
  return at::cat({geometric(power), between}).to(at::kFloat);
}

}  // namespace tessera::ops
