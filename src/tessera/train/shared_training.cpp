#include "tessera/train/shared_training.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/detail/gradients.h"

namespace tessera {
namespace {

/// The tensors that must be the leader's before the first update.
std::vector<at::Tensor> shared_tensors(const torch::nn::Module& module,
                                       const Optimizer& optimizer) {
  std::vector<at::Tensor> tensors = module.parameters();
  for (const at::Tensor& buffer : module.buffers()) tensors.push_back(buffer);
  for (const auto& [name, tensor] : optimizer.state()) tensors.push_back(tensor);
  return tensors;
}

/// What must be the same in all processes: training, data and model.
std::string shared_configuration(const Learner& learner) {
  config::Json json = config::to_json(learner.training());
  for (const char* of_the_leader : {"threads", "evaluate_every", "evaluate_batches",
                                    "checkpoint_every", "keep_checkpoints", "sample_every"})
    json.erase(of_the_leader);
  return json.dump() + " " + learner.digest();
}

}  // namespace

Order exchange(Processes& processes, const Order& order) {
  const auto numbers = processes.from_leader(
      {static_cast<double>(order.kind), static_cast<double>(order.step), order.learning_rate});
  return {static_cast<Order::Kind>(numbers[0]), static_cast<int64_t>(numbers[1]), numbers[2]};
}

void check_shares(const TrainConfig& config, int64_t processes) {
  if (config.device != "cpu")
    throw UsageError("train.device is '{}', expected cpu: several processes train on processors",
                     config.device);
  if (config.accumulation % processes == 0) return;
  throw UsageError(
      "train.accumulation is {}, expected a multiple of the {} processes, which share the "
      "micro-batches of an update; for the same updates with {} of them divide train.batch by {} "
      "and multiply train.accumulation by it",
      config.accumulation, processes, processes, processes);
}

void start_together(Learner& learner, Optimizer& optimizer, Processes& processes) {
  const TrainConfig& config = learner.training();
  learner.check_shares(processes.count());
  processes.require_equal("configuration", shared_configuration(learner));
  processes.copy_from_leader(shared_tensors(learner.module(), optimizer));
  if (config.share_optimizer) optimizer.share(processes);
}

void help_training(Learner& learner, Processes& processes) {
  const TrainConfig& config = learner.training();
  const InterruptGuard leave_signals_to_the_leader;
  if (config.threads > 0) at::set_num_threads(static_cast<int>(config.threads));
  const FlushDenormals flush_denormals;
  learner.module().train();
  const auto optimizer = config.make_optimizer(trainable_parameters(learner.module()));
  start_together(learner, *optimizer, processes);
  for (;;) {
    const Order order = exchange(processes, {});
    if (order.kind == Order::Kind::kEnd) return;
    if (order.kind == Order::Kind::kGatherState) {
      optimizer->state();
      continue;
    }
    optimizer->set_steps(order.step);
    const auto [loss, norm, scale] = compute_gradient(learner, *optimizer, order.step, &processes);
    // The sums are the same bits in all processes: the leader makes no update either, and ends.
    if (!std::isfinite(loss) || !std::isfinite(norm)) continue;
    optimizer->step(order.learning_rate, scale);
  }
}

}  // namespace tessera
