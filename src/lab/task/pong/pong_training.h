#pragma once

#include <cstdio>
#include <filesystem>
#include <vector>

#include "lab/task/pong/pong_workers.h"
#include "tessera/train/run_folder.h"
#include "tessera/train/train_config.h"

namespace tessera::task {

/// How an agent learns Pong. Defaults: Le et al. 2020, appendix I, and its code, at its size.
struct PongTrainingConfig {
  PongEnvironmentConfig environment;
  PongAgentConfig agent;
  ActorCriticConfig actor_critic;
  TrainConfig train = {.steps = 100'000,
                       .batch = 32,
                       .learning_rate = 1e-4,
                       .min_learning_rate = 1e-4,
                       .warmup_steps = 0,
                       .weight_decay = 0,
                       .beta2 = 0.999,
                       .epsilon = 1e-3,
                       .clip = 0,
                       .evaluate_every = 0,
                       .evaluate_batches = 100,
                       .checkpoint_every = 1000};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("environment", environment, "the game, and what an agent sees of it");
    field("agent", agent, "the network");
    field("actor_critic", actor_critic, "what it learns by");
    field("train", train,
          "how long and how fast; batch: workers, evaluate_batches: games of an evaluation");
  }

  /// Throws UsageError that names the field and what it may be.
  void check() const;
};

/// An agent after training.
struct TrainedPongAgent {
  PongAgent agent = nullptr;      ///< after the last step
  std::vector<PlayedGame> games;  ///< of the training, in the order in which they ended
  double reward = 0;              ///< mean over the games of the last evaluation
  double frames_per_second = 0;   ///< of the simulator, while training: median over updates
  double seconds = 0;             ///< of training, in all processes
};

/// Trains an agent by advantage actor-critic into a run folder: config.toml, manifest.json,
/// metrics.jsonl, games.jsonl (a line for each game) and checkpoints/. Each update is made of one
/// rollout of `train.batch` workers, through which gradients go back; the agent's state goes on.
/// Equal configurations give equal runs, also when they are stopped and resumed.
///
/// Differs from Mnih et al. 2016 and the authors' code: the workers take turns on one network and
/// their mean gradient makes an update, where 32 processes changed one network asynchronously. Adam
/// without its variant AMSGrad.
///
/// A signal: Interrupted, after a checkpoint was saved. Otherwise throws what Trainer::run throws.
TrainedPongAgent train_pong(const PongTrainingConfig& config, const RunFolder& run,
                            std::FILE* progress, const std::string& name = "pong");

}  // namespace tessera::task
