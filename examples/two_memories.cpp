// The two-memory model on data of one's own: three keys with a value each, then one of the keys
// again; which value came with it?
//
// Expected output:
//   right in more than 95 % of 512 new sequences

#include <ATen/ATen.h>
#include <torch/optim/adam.h>

#include <cstdio>

#include "tessera/model/stm.h"

namespace {

constexpr int64_t kKeys = 6, kValues = 3, kPairs = 3;

/// Keys and values are one-hot.
struct Batch {
  at::Tensor inputs;   // [B, kPairs + 1, kKeys + kValues]: keys with values; at last a key alone
  at::Tensor answers;  // [B], values
};

Batch draw(int64_t sequences) {
  const at::Tensor keys = at::rand({sequences, kKeys}).argsort(int64_t{1}).narrow(1, 0, kPairs);
  const at::Tensor values = at::randint(kValues, {sequences, kPairs}, at::kLong);
  const at::Tensor asked = at::randint(kPairs, {sequences, 1}, at::kLong);
  const at::Tensor pairs = at::cat({at::one_hot(keys, kKeys), at::one_hot(values, kValues)}, 2);
  const at::Tensor question =
      at::constant_pad_nd(at::one_hot(keys.gather(1, asked), kKeys), {0, kValues});
  return {at::cat({pairs, question}, 1).to(at::kFloat), values.gather(1, asked).squeeze(1)};
}

}  // namespace

int main() {
  at::manual_seed(1);
  tessera::StmConfig config;
  config.inputs = kKeys + kValues;
  config.outputs = kValues;
  config.slots = 2;
  config.width = config.distilled = 16;
  tessera::Stm model(config, /*seed=*/1);
  const auto answer = [&](const Batch& batch) {  // the output of the last step, [B, kValues]
    return model.forward(batch.inputs, {}, /*first_output=*/kPairs).squeeze(1);
  };
  torch::optim::Adam optimizer(model.parameters(), torch::optim::AdamOptions(1e-2));
  for (int step = 0; step < 300; ++step) {
    const Batch batch = draw(64);
    optimizer.zero_grad();
    at::cross_entropy_loss(answer(batch), batch.answers).backward();
    optimizer.step();
  }
  const Batch test = draw(512);
  const double right =
      answer(test).argmax(1).eq(test.answers).to(at::kDouble).mean().item<double>();
  std::printf("right in %s of 512 new sequences\n", right > 0.95 ? "more than 95 %" : "too few");
  std::fprintf(stderr, "(%.1f %%)\n", 100 * right);
}
