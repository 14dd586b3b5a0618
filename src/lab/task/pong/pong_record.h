#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "lab/task/pong/pong_players.h"

namespace tessera::task {

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
