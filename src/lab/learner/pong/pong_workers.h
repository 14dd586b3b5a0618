#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lab/learner/pong/actor_critic.h"
#include "lab/learner/pong/pong_network.h"
#include "lab/task/pong/pong_environment.h"

namespace tessera::task {

/// A game that a worker has ended.
struct PlayedGame {
  int64_t reward = 0;  ///< points won less points lost
  int64_t actions = 0;
};

/// NaN where there are no games.
double mean_reward(std::span<const PlayedGame> games);
/// How many games it took until the mean reward of the last `width` was above 0; none if it never
/// was.
std::optional<size_t> games_until_ahead(std::span<const PlayedGame> games, size_t width);

/// The games of several workers that one agent plays side by side. Everything random but the draw
/// of actions is a function of the seed, a worker's number and a game's number.
class PongGames {
 public:
  struct Worker {
    PongEnvironment environment;  ///< the present game
    int64_t game;                 ///< its number
    FrameNormaliser normaliser;   ///< of all games of this worker
    int64_t reward = 0;
    std::vector<int64_t> actions = {};
  };

  PongGames(const PongEnvironmentConfig& config, int64_t workers, uint64_t seed);

  /// Replays a game of a worker that was cut: its number and the actions in it.
  void replay(size_t worker, int64_t game, const std::vector<int64_t>& actions);

  struct Outcome {
    std::vector<int64_t> rewards;
    std::vector<PlayedGame> ended;  ///< games, in the order of their workers
    std::vector<bool> has_ended;    ///< of each worker; its next game has begun
  };
  Outcome act(const std::vector<int64_t>& actions);

  /// What the workers see, [W, size, size], normalised by each worker's own means over its games.
  /// take: also takes the frames into the means; once for every frame.
  at::Tensor observe(bool take);

  std::vector<Worker>& workers() { return workers_; }

 private:
  Worker begun(size_t worker, int64_t game, const FrameNormaliser& normaliser) const;

  PongEnvironmentConfig config_;
  uint64_t seed_;
  std::vector<Worker> workers_;
};

/// An agent with the workers that learn together. A module: what a checkpoint keeps of it is the
/// agent and, as buffers, where all games are; games themselves are replayed from their actions.
class PongWorkersImpl : public torch::nn::Module {
 public:
  PongWorkersImpl(const PongEnvironmentConfig& environment, const PongAgentConfig& agent,
                  int64_t workers, uint64_t seed);

  /// Plays one rollout, drawing actions by LibTorch's default generator, and gives its loss.
  /// Rewards count as at most 1 and at least -1.
  at::Tensor loss(const ActorCriticConfig& config);
  /// The games that ended since the last call.
  std::vector<PlayedGame> take_ended();

  std::shared_ptr<PongNetwork> network;  // whose parameters are those of the module "agent"

 private:
  void restore();
  void store(const PongNetwork::State& state);

  PongEnvironmentConfig environment_;
  int64_t workers_;
  uint64_t seed_;
  std::optional<PongGames> playing_;  // none before the first rollout of this process
  std::vector<PlayedGame> ended_;
  at::Tensor games_, acted_, actions_;  // [W], [W], [W, longest_game]: of the present games
  at::Tensor normalisers_;              // [W, 3]: mean, deviation, frames
  PongNetwork::State state_;            // the agent's
  at::Tensor begun_;                    // 0 before the first rollout, [1]
};
TORCH_MODULE(PongWorkers);

/// The games of an agent that draws its actions, one for each number below `games`, played side by
/// side. Without gradients. Throws Interrupted after a signal while an InterruptGuard lives.
std::vector<PlayedGame> play_games(PongNetwork& network, const PongEnvironmentConfig& config,
                                   int64_t games, uint64_t seed);

}  // namespace tessera::task
