#include "lab/learner/pong/pong_learner.h"

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "lab/learner/task_tables.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/train/metrics_log.h"

namespace tessera::task {
namespace {

using config::Json;

constexpr uint64_t kEvaluationSeed = 0x65766131;  // added: games that no worker plays

}  // namespace

void PongTrainingConfig::check() const {
  environment.check();
  agent.check(environment.size);
  config::check_demands(actor_critic, "actor_critic");
  check_task_training(train);
  if (train.device != "cpu")
    throw UsageError("train.device is '{}', expected cpu, where the games are played",
                     train.device);
  if (train.accumulation != 1)
    throw UsageError(
        "train.accumulation is {}, expected 1, in one process: raise train.batch, the workers",
        train.accumulation);
}

PongLearner::PongLearner(const PongTrainingConfig& config)
    : Learner(config.train),
      config_(config::checked(config)),
      workers_(config.environment, config.agent, config.train.batch, config.train.seed) {}

at::Tensor PongLearner::loss(int64_t, int64_t) {
  return workers_->loss(config_.actor_critic);
}

Metrics PongLearner::evaluate(const OnBatch&) {
  const double reward =
      mean_reward(play_games(*workers_->network, config_.environment, training().evaluate_batches,
                             training().seed + kEvaluationSeed));
  return {{"loss", -reward}, {"reward", reward}};
}

Json PongLearner::step_events() {
  Json games = Json::array();
  for (const auto& [reward, actions] : workers_->take_ended()) games.push_back({reward, actions});
  return games.empty() ? Json::object() : Json{{"games", games}};
}

void PongLearner::save(const std::filesystem::path& folder) {
  save_model(folder, *workers_->network);
}

Json PongLearner::configuration() const {
  return with_task_name(kTask, config::to_json(config_));
}

Json PongLearner::completed(const Json& written, const std::string& where) const {
  return config::to_json(config_without_name<PongTrainingConfig>(written, where));
}

std::string PongLearner::digest() const {
  Json digest = config::to_json(config_);
  digest.erase("train");
  return digest.dump();
}

int64_t PongLearner::units_per_step() const {
  return training().batch * config_.actor_critic.rollout * config_.environment.frames_per_action();
}

void PongLearner::check_shares(int64_t processes) const {
  throw UsageError(
      "{} is trained in one process, as its games go on from one update to the next, and there are "
      "{}: start one, and raise train.batch, the workers",
      kTask, processes);
}

std::vector<PlayedGame> games_of_training(const std::filesystem::path& run) {
  std::vector<PlayedGame> games;
  for (const Json& line : MetricsLog::read(run / MetricsLog::kFile))
    for (const Json& game : line.value("games", Json::array()))
      games.push_back({game.at(0), game.at(1)});
  return games;
}

}  // namespace tessera::task
