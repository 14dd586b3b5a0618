#include "lab/baseline/content_weights.h"

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

}  // namespace tessera::ops
