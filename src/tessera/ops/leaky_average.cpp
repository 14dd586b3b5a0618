#include "tessera/ops/leaky_average.h"

#include <ATen/ATen.h>

#include "tessera/ops/check_sequence.h"

namespace tessera::ops {
namespace {

/// Doubling: after the pass with reach s, y_t holds the terms of the last 2s inputs.
at::Tensor composed(const at::Tensor& x, const at::Tensor& decay, const at::Tensor& initial) {
  const int64_t T = x.size(1);
  if (T == 0) return x + 0 * decay.view({-1, 1});
  const at::Tensor head_decay = decay.view({-1, 1});  // [H, 1]
  at::Tensor y = x;
  if (initial.defined())
    y = at::cat({y.narrow(1, 0, 1) + (head_decay * initial).unsqueeze(1), y.narrow(1, 1, T - 1)},
                1);
  for (int64_t reach = 1; reach < T; reach *= 2) {
    const at::Tensor earlier = y.narrow(1, 0, T - reach) * head_decay.pow(reach);
    y = at::cat({y.narrow(1, 0, reach), y.narrow(1, reach, T - reach) + earlier}, 1);
  }
  return y;
}

}  // namespace

at::Tensor leaky_average(const at::Tensor& x, const at::Tensor& decay, const at::Tensor& initial) {
  check_sequence(x, "leaky_average: x");
  check_like(decay, {x.size(2)}, x, "leaky_average: decay");
  if (initial.defined())
    check_like(initial, {x.size(0), x.size(2), x.size(3)}, x, "leaky_average: initial");
  return composed(x, decay, initial);
}

}  // namespace tessera::ops
