#pragma once

#include "tessera/train/processes.h"
#include "tessera/train/train_config.h"
#include "tessera/train/training_task.h"

namespace tessera {

/// What the leader tells the others before each update.
struct UpdateOrder {
  int64_t step = 0;  ///< updates made; -1: the training has ended
  double learning_rate = 0;
};

/// Sends the leader's order to all, or receives it.
UpdateOrder exchange(Processes& processes, const UpdateOrder& order);

/// What the other processes of a training do while the leader runs its Trainer: takes the leader's
/// parameters and optimiser, computes its share of every update's gradient, and makes the same
/// updates, until the leader ends. task.processes must be set and task.module be made as the
/// leader's. Signals are left to the leader. Throws UsageError as the Trainer does; ProcessLost.
void help_training(const TrainConfig& config, const TrainingTask& task);

/// The tensors that must be the leader's before the first update: parameters, buffers and what the
/// optimiser keeps.
std::vector<at::Tensor> shared_tensors(const torch::nn::Module& module, const Optimizer& optimizer);

/// What must be the same in all processes: training, data and model.
std::string shared_configuration(const TrainConfig& config, const TrainingTask& task);

/// Throws UsageError unless the micro-batches of an update can be shared evenly.
void check_shares(const TrainConfig& config, int64_t processes);

}  // namespace tessera
