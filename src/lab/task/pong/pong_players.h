#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <string_view>

#include "lab/task/pong/pong_environment.h"

namespace tessera::task {

/// Players that learn nothing, to compare with.
///   kStill    never moves
///   kRandom   draws each action
///   kPerfect  knows ball and opponent: moves to where the ball will arrive and returns it with the
///             edge of its paddle that sends it away from the opponent
enum class PongPlayer { kStill, kRandom, kPerfect };
constexpr std::array<std::string_view, 3> enum_names(PongPlayer) {
  return {"still", "random", "perfect"};
}

/// What such a player does next; only kRandom draws from `random`.
int64_t choose_action(PongPlayer player, const PongEnvironment& environment, RandomStream& random);

struct PongScore {
  int64_t won = 0, lost = 0;  ///< points
  int64_t actions = 0;
  int64_t reward() const { return won - lost; }
};

/// Sees an action when its frames are over.
using OnPongAction = std::function<void(const PongEnvironment& environment, int64_t action,
                                        const PongEnvironment::Outcome& outcome)>;

/// The score of a game between such a player and the opponent. A pure function of its other
/// arguments. Throws UsageError on an impossible configuration.
PongScore play_game(const PongEnvironmentConfig& config, PongPlayer player, uint64_t seed,
                    const OnPongAction& on_action = {});

/// Games of such a player as files, with what is on the field: the ground truth of what an agent
/// sees. Each is a pure function of the configuration, the player and its seed.
struct PongRecord {
  PongEnvironmentConfig environment;
  PongPlayer player = PongPlayer::kPerfect;
  uint64_t seed = 1;  ///< game i (from 0) has run_seed(seed, i)
};

/// One JSON object a line, for each action: "game", "action", "reward", "player" and "opponent"
/// (row of the middle of each paddle), "ball" ([column, row] of its middle, null between a point
/// and the next serve), "points" ([won, lost]), all after the action. Rows count downwards, in
/// pixels of the screen. write: takes each line, with its end. Throws UsageError on fewer than one
/// game and on an impossible configuration, Interrupted between two games after a signal.
void write_pong_jsonl(const PongRecord& record, int64_t games,
                      const std::function<void(std::string_view)>& write);

/// The first game as tensors: `observations` [actions + 1, size, size], what an agent sees before
/// the first action and after each, `actions` and `rewards` [actions]. The file appears whole or
/// not at all. Throws UsageError on an impossible configuration, SystemError.
void write_pong_tensors(const PongRecord& record, const std::filesystem::path& path);

}  // namespace tessera::task
