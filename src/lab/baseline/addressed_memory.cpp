#include "lab/baseline/addressed_memory.h"

#include <ATen/ATen.h>

#include "tessera/ops/batched_product.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {

at::Tensor content_weights(const at::Tensor& keys, const at::Tensor& strengths,
                           const at::Tensor& memory) {
  check_shape(keys, {-1, -1, -1}, "content_weights: keys");
  check_shape(strengths, {keys.size(0), keys.size(1)}, "content_weights: strengths");
  check_shape(memory, {keys.size(0), -1, keys.size(2)}, "content_weights: memory");
  const at::Tensor lengths =  // [B, H, N]
      keys.norm(2, {2}, /*keepdim=*/true) * memory.norm(2, {2}).unsqueeze(1) + 1e-6;
  const at::Tensor cosines = batched_product(keys, memory.transpose(1, 2)) / lengths;
  return (strengths.unsqueeze(2) * cosines).softmax(2);
}

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
