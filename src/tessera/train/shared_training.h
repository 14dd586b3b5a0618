#pragma once

#include "tessera/train/learner.h"
#include "tessera/train/processes.h"

namespace tessera {

/// What the leader tells the others to do with it.
struct Order {
  enum class Kind { kUpdate, kGatherState, kEnd };
  Kind kind = Kind::kEnd;
  int64_t step = 0;  ///< kUpdate: updates made
  double learning_rate = 0;
};

/// Sends the leader's order to all, or receives it.
Order exchange(Processes& processes, const Order& order);

/// Brings all processes to the leader's parameters, buffers and optimiser, after they have found
/// that they have the same configuration. From here on they share the optimiser where the
/// configuration says so. Throws UsageError.
void start_together(Learner& learner, Optimizer& optimizer, Processes& processes);

/// What the other processes of a training do while the leader runs its Trainer: takes the leader's
/// parameters and optimiser, computes its share of every update's gradient, and makes the same
/// updates, until the leader ends. The learner must be made as the leader's. Signals are left to
/// the leader. Throws UsageError as Trainer::run does; ProcessLost.
void help_training(Learner& learner, Processes& processes);

/// Throws UsageError unless the micro-batches of an update can be shared evenly, on the CPU.
void check_shares(const TrainConfig& config, int64_t processes);

}  // namespace tessera
