#include "lab/task/pong/pong_training.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/train/metrics_log.h"
#include "tessera/train/trainer.h"
#include "tessera/train/training_display.h"

namespace tessera::task {
namespace {

using config::Json;

constexpr const char* kGamesLog = "games.jsonl";
constexpr uint64_t kEvaluationSeed = 0x65766131;  // added: games that no worker plays

/// Shows the training and keeps the log of its games.
class PongObserver : public TrainingDisplay {
 public:
  PongObserver(std::FILE* stream, std::string name, PongWorkers workers,
               std::filesystem::path folder)
      : TrainingDisplay(stream, std::move(name),
                        {.unit = "frames",
                         .evaluation =
                             [](const Metrics& metrics) {
                               return fmt::format("reward {:+.2f} a game", metrics.at("reward"));
                             }}),
        workers_(std::move(workers)),
        path_(folder / kGamesLog) {}

  void on_start(int64_t step, int64_t steps) override {
    log_.emplace(path_, step > 0 ? step : -1);
    TrainingDisplay::on_start(step, steps);
  }
  void on_step(const StepMetrics& metrics) override {
    for (const auto& [reward, actions] : workers_->take_ended())
      log_->write({{"step", metrics.step}, {"reward", reward}, {"actions", actions}});
    TrainingDisplay::on_step(metrics);
  }

 private:
  PongWorkers workers_;
  std::filesystem::path path_;
  std::optional<MetricsLog> log_;
};

double mean_reward(const std::vector<PlayedGame>& games) {
  double sum = 0;
  for (const PlayedGame& game : games) sum += static_cast<double>(game.reward);
  return sum / static_cast<double>(games.size());
}

TrainingTask training_task(const PongTrainingConfig& config, PongWorkers workers) {
  TrainingTask task{.module = *workers, .loss = {}, .evaluate = {}, .sample = {}, .digest = {}};
  task.loss = [&config, workers](int64_t, int64_t) mutable {
    return workers->loss(config.actor_critic);
  };
  task.evaluate = [&config, workers]() mutable -> Metrics {
    const double reward =
        mean_reward(play_games(workers->agent, config.environment, config.train.evaluate_batches,
                               config.train.seed + kEvaluationSeed));
    return {{"loss", -reward}, {"reward", reward}};
  };
  task.tokens_per_step =
      config.train.batch * config.actor_critic.rollout * config.environment.frames_per_action();
  Json digest = config::to_json(config);
  digest.erase("train");
  task.digest = digest.dump();
  return task;
}

std::vector<PlayedGame> logged_games(const std::filesystem::path& folder) {
  std::vector<PlayedGame> games;
  for (const Json& line : MetricsLog::read(folder / kGamesLog))
    games.push_back({line.at("reward"), line.at("actions")});
  return games;
}

/// What metrics.jsonl says of the whole training.
void read_metrics(const std::filesystem::path& folder, TrainedPongAgent& trained) {
  std::vector<double> speeds;
  for (const Json& line : MetricsLog::read(folder / "metrics.jsonl")) {
    if (line.contains("tokens_per_second")) speeds.push_back(line["tokens_per_second"]);
    if (line.contains("metrics")) trained.reward = line["metrics"].at("reward");
    trained.seconds = line.value("elapsed_seconds", trained.seconds);
  }
  if (speeds.empty()) return;
  const auto middle = speeds.begin() + std::ssize(speeds) / 2;
  std::nth_element(speeds.begin(), middle, speeds.end());
  trained.frames_per_second = *middle;
}

}  // namespace

void PongTrainingConfig::check() const {
  environment.check();
  agent.check(environment.size);
  actor_critic.check();
  train.check();
  if (train.accumulation != 1)
    throw UsageError("train.accumulation is {}, expected 1: raise train.batch, the workers",
                     train.accumulation);
  if (train.evaluate_batches < 1)
    throw UsageError("train.evaluate_batches is {}, expected 1 game or more",
                     train.evaluate_batches);
}

TrainedPongAgent train_pong(const PongTrainingConfig& config, const RunFolder& run,
                            std::FILE* progress, const std::string& name) {
  config.check();
  PongWorkers workers(config.environment, config.agent, config.train.batch, config.train.seed);
  PongObserver observer(progress, name, workers, run.path());
  Trainer trainer(config.train, training_task(config, workers), run.path(), &observer);
  run.write_configuration(config::to_json(config),
                          [](const Json& written, const std::string& where) {
                            PongTrainingConfig before;
                            config::from_json(written, before, where);
                            return config::to_json(before);
                          });
  const TrainingResult result = trainer.run(run.start());
  if (result.evaluation_is_missing)
    throw Interrupted(fmt::format("stopped while the agent in {} was measured; it is saved",
                                  run.path().native()));
  observer.finish();
  TrainedPongAgent trained;
  trained.agent = workers->agent;
  trained.games = logged_games(run.path());
  read_metrics(run.path(), trained);
  return trained;
}

}  // namespace tessera::task
