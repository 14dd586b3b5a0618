#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/learner/pong/pong_workers.h"
#include "tessera/train/learner.h"

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

/// An agent that learns by advantage actor-critic. Each update is made of one rollout of
/// `train.batch` workers, through which gradients go back; the agent's state goes on. An evaluation
/// is the mean reward of games that no worker plays, and its loss the same with a minus sign. The
/// log's line of an update has the games that ended in it: "games", a list of [reward, actions].
/// Equal configurations give equal runs, also when they are stopped and resumed.
///
/// Differs from Mnih et al. 2016 and the authors' code: the workers take turns on one network and
/// their mean gradient makes an update, where 32 processes changed one network asynchronously. Adam
/// without its variant AMSGrad.
class PongLearner : public Learner {
 public:
  static constexpr std::string_view kTask = "pong";  ///< in a table [task]

  /// Throws UsageError on a configuration that makes no sense.
  explicit PongLearner(const PongTrainingConfig& config);

  const std::shared_ptr<PongNetwork>& network() const { return workers_->network; }

  torch::nn::Module& module() override { return *workers_; }
  at::Tensor loss(int64_t step, int64_t micro_batch) override;
  Metrics evaluate(const OnBatch& on_batch) override;
  config::Json step_events() override;

  void save(const std::filesystem::path& folder) override;
  config::Json configuration() const override;
  config::Json completed(const config::Json& written, const std::string& where) const override;
  std::string digest() const override;

  std::string name() const override { return std::string(PongNetwork::kKind); }
  std::string unit() const override { return "frames"; }
  int64_t units_per_step() const override;
  void check_shares(int64_t processes) const override;
  std::vector<ShownMetric> shown() const override { return {{"reward", "reward per game"}}; }

 private:
  PongTrainingConfig config_;
  PongWorkers workers_;
};

/// The games of a training, in the order in which they ended.
std::vector<PlayedGame> games_of_training(const std::filesystem::path& run);

}  // namespace tessera::task
