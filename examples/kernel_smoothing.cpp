// One op alone: what a contextual memory answers, and how much of it comes from each stored value.
//
// Expected output:
//   time 1 reads ( 0.0000,  0.0000)
//   time 2 reads ( 1.0000,  0.0000)
//   time 3 reads ( 0.9820,  0.0180)
//   of the last answer, 0.9820 comes from value 1, 0.0180 from value 2, 0.0000 from value 3

#include <ATen/ATen.h>

#include <cstdio>

#include "tessera/ops/memory_read.h"

int main() {
  // One sequence of three steps, one head, two channels: [B, T, H, D] = [1, 3, 1, 2]. The third key
  // is the first again, so the third answer is nearly the first value: softmax(4, 0) of the two.
  const at::Tensor keys = at::tensor({2.0, 0.0, 0.0, 2.0, 2.0, 0.0}).view({1, 3, 1, 2});
  at::Tensor values = at::tensor({1.0, 0.0, 0.0, 1.0, 5.0, 5.0}).view({1, 3, 1, 2});
  values.set_requires_grad(true);

  const at::Tensor read = tessera::ops::kernel_smoothing(keys, values);  // [1, 3, 1, 2]
  for (int64_t t = 0; t < 3; ++t) {
    const at::Tensor answer = read[0][t][0];
    std::printf("time %d reads (%7.4f, %7.4f)\n", static_cast<int>(t + 1), answer[0].item<double>(),
                answer[1].item<double>());
  }

  read[0][2][0][0].backward();
  const at::Tensor share = values.grad().select(3, 0).flatten();  // [3]
  std::printf("of the last answer, %.4f comes from value 1, %.4f from value 2, %.4f from value 3\n",
              share[0].item<double>(), share[1].item<double>(), share[2].item<double>());
}
