#pragma once

#include <array>
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

}  // namespace tessera::task
