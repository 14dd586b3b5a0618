#include "lab/baseline/erase_and_add.h"

#include <ATen/ATen.h>

#include "tessera/ops/batched_product.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {

at::Tensor erase_and_add(const at::Tensor& memory, const at::Tensor& weights,
                         const at::Tensor& erase, const at::Tensor& add) {
  check_shape(memory, {-1, -1, -1}, "erase_and_add: memory");
  const int64_t B = memory.size(0), N = memory.size(1), W = memory.size(2);
  check_shape(weights, {B, -1, N}, "erase_and_add: weights");
  const int64_t H = weights.size(1);
  check_shape(erase, {B, H, W}, "erase_and_add: erase");
  check_shape(add, {B, H, W}, "erase_and_add: add");
  at::Tensor kept = memory;
  for (int64_t h = 0; h < H; ++h) {
    const at::Tensor erased = weights.select(1, h).unsqueeze(2) * erase.select(1, h).unsqueeze(1);
    kept = at::addcmul(kept, kept, erased, -1);
  }
  return batched_product(weights.transpose(1, 2), add, kept);
}

}  // namespace tessera::ops
