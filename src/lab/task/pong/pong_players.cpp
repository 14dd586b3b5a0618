#include "lab/task/pong/pong_players.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/task/sequence/sample_arrays.h"
#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/random.h"
#include "tessera/base/safetensors.h"

namespace tessera::task {

namespace {

constexpr uint64_t kPlayerStream = 2;  // of the seed
constexpr double kEdge = 7;            // rows from a paddle's middle, at most half of its height

/// The row that the middle of a perfect player's paddle should have.
double best_row(const PongGame& game) {
  constexpr double kMiddle = (pong::kFieldTop + pong::kFieldBottom) / 2;
  if (!game.ball_in_play() || game.ball_speed_sideways() < 0) return kMiddle;
  const double arrival = row_of_arrival(game, pong::kPlayerFace - pong::kBallWidth);
  const bool opponent_is_above = game.opponent().middle_row() < kMiddle;
  return arrival + (opponent_is_above ? -kEdge : kEdge);
}

/// The move that leaves the paddle nearest to its best row when the action has ended.
PongMove perfect_move(const PongGame& game, int64_t frames) {
  const double way = best_row(game) - game.player().middle_row();
  const double step = pong::kPlayerSpeed * static_cast<double>(frames);
  if (std::abs(way) <= step / 2) return PongMove::kStay;
  return way < 0 ? PongMove::kUp : PongMove::kDown;
}

}  // namespace

int64_t choose_action(PongPlayer player, const PongEnvironment& environment, RandomStream& random) {
  const auto moves = moves_of(environment.configuration().actions);
  if (player == PongPlayer::kStill) return 0;
  if (player == PongPlayer::kRandom) return random.below(moves.size());
  const PongMove move =
      perfect_move(environment.game(), environment.configuration().frames_per_action());
  return std::ranges::find(moves, move) - moves.begin();
}

PongScore play_game(const PongEnvironmentConfig& config, PongPlayer player, uint64_t seed,
                    const OnPongAction& on_action) {
  PongEnvironment environment(config, seed);
  RandomStream random(seed, kPlayerStream);
  PongScore score;
  for (bool ended = false; !ended; ++score.actions) {
    const int64_t action = choose_action(player, environment, random);
    const PongEnvironment::Outcome outcome = environment.act(action);
    if (on_action) on_action(environment, action, outcome);
    ended = outcome.ended;
  }
  score.won = environment.game().player_points();
  score.lost = environment.game().opponent_points();
  return score;
}

namespace {

using config::Json;

Json field_of(const PongGame& game) {
  const PongBox ball = game.ball();
  return {
      {"player", game.player().middle_row()},
      {"opponent", game.opponent().middle_row()},
      {"ball", game.ball_in_play() ? Json{ball.left + ball.width / 2, ball.middle_row()} : Json()},
      {"points", {game.player_points(), game.opponent_points()}}};
}

}  // namespace

void write_pong_jsonl(const PongRecord& record, int64_t games,
                      const std::function<void(std::string_view)>& write) {
  check_range(games, 1, 1'000'000, "the number of games");
  const InterruptGuard guard;
  for (int64_t game = 0; game < games; ++game) {
    InterruptGuard::stop_if_interrupted("stopped while playing Pong");
    play_game(record.environment, record.player, run_seed(record.seed, game),
              [&](const PongEnvironment& environment, int64_t action,
                  const PongEnvironment::Outcome& outcome) {
                Json line = {{"game", game}, {"action", action}, {"reward", outcome.reward}};
                line.update(field_of(environment.game()));
                write(line.dump() + '\n');
              });
  }
}

void write_pong_tensors(const PongRecord& record, const std::filesystem::path& path) {
  const int64_t size = record.environment.size;
  std::vector<float> observations = PongEnvironment(record.environment, record.seed).observation();
  std::vector<int64_t> actions, rewards;
  play_game(record.environment, record.player, record.seed,
            [&](const PongEnvironment& environment, int64_t action,
                const PongEnvironment::Outcome& outcome) {
              const std::vector<float> seen = environment.observation();
              observations.insert(observations.end(), seen.begin(), seen.end());
              actions.push_back(action);
              rewards.push_back(outcome.reward);
            });
  const auto n = std::ssize(actions);
  const InterruptGuard guard;  // a signal waits until the file is written
  safetensors::write(
      path,
      {{"observations", tensor_of(observations, {n + 1, size, size})},
       {"actions", tensor_of(actions, {n})},
       {"rewards", tensor_of(rewards, {n})}},
      {{"player", config::enum_name(record.player)}, {"seed", std::to_string(record.seed)}});
}

}  // namespace tessera::task
