#include "lab/task/pong/pong_record.h"

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "lab/task/sequence/check_range.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/random.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera::task {
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

void append(std::vector<float>& all, const std::vector<float>& more) {
  all.insert(all.end(), more.begin(), more.end());
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
              append(observations, environment.observation());
              actions.push_back(action);
              rewards.push_back(outcome.reward);
            });
  save_tensors(
      path,
      {{"observations", at::tensor(observations).view({-1, size, size})},
       {"actions", at::tensor(actions)},
       {"rewards", at::tensor(rewards)}},
      {{"player", std::string(enum_names(PongPlayer{})[static_cast<size_t>(record.player)])},
       {"seed", std::to_string(record.seed)}});
}

}  // namespace tessera::task
