#include "tessera/ops/peek_average.h"

#include <ATen/ATen.h>

#include "tessera/ops/check_sequence.h"

namespace tessera::ops {
namespace {

at::Tensor composed(const at::Tensor& x, const at::Tensor& mix) {
  const int64_t T = x.size(1);
  const at::Tensor head_mix = mix.view({-1, 1});  // [H, 1]
  if (T == 0) return x * head_mix;
  const at::Tensor next = at::cat(
      {x.narrow(1, 1, T - 1), at::zeros({x.size(0), 1, x.size(2), x.size(3)}, x.options())}, 1);
  return head_mix * x + (1 - head_mix) * next;
}

}  // namespace

at::Tensor peek_average(const at::Tensor& x, const at::Tensor& mix) {
  check_sequence(x, "peek_average: x");
  check_like(mix, {x.size(2)}, x, "peek_average: mix");
  return composed(x, mix);
}

}  // namespace tessera::ops
