#include "tessera/train/detail/gradients.h"

#include <ATen/ATen.h>

#include <optional>

#include "tessera/base/random.h"
#include "tessera/tensor/check.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/detail/gradient_sums.h"
#include "tessera/train/processes.h"

namespace tessera {

void seed_generator(uint64_t seed, int64_t step, uint64_t draw) {
  const auto words = Philox(seed, static_cast<uint64_t>(step)).block(draw);
  at::manual_seed(uint64_t{words[1]} << 32 | words[0]);
}

double compute_gradients(Learner& learner, Optimizer& optimizer, int64_t step,
                         Processes* processes) {
  const TrainConfig& config = learner.training();
  const int64_t first = processes ? processes->rank() : 0;
  const int64_t stride = processes ? processes->count() : 1;
  at::Tensor sum;  // of the losses, on their device: reading it waits for the device
  std::future<void> sum_of_processes;
  std::optional<GradientSums> gradient_sums;
  optimizer.clear_gradients();
  for (int64_t micro_batch = first; micro_batch < config.accumulation; micro_batch += stride) {
    seed_generator(config.seed, step, static_cast<uint64_t>(micro_batch));
    const at::Tensor part = learner.loss(step, micro_batch) / config.accumulation;
    TESSERA_CHECK(part.dim() == 0 && part.requires_grad(), "Trainer: the loss has shape ",
                  part.sizes(), ", expected a scalar that depends on the parameters");
    const at::Tensor value = part.detach().to(at::kDouble, false, /*copy=*/true);
    sum = sum.defined() ? sum + value : value;
    if (processes && micro_batch + stride >= config.accumulation) {
      sum_of_processes = processes->start_sum(sum);
      gradient_sums.emplace(*processes, trainable_parameters(learner.module()),
                            config.wire_precision);
    }
    part.backward();
  }
  if (gradient_sums) {
    sum_of_processes.get();
    gradient_sums->wait();
  }
  return sum.item<double>();
}

}  // namespace tessera
