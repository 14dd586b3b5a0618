#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "lab/task/pong/pong_game.h"

namespace tessera::task {

/// A picture of pong::kFrameHeight x pong::kFrameWidth pixels.
struct PongFrame {
  std::vector<uint8_t> rgb;  ///< row by row: red, green, blue of each pixel
};

/// The picture of a game as the screen shows it: background, walls, paddles, ball, both scores.
PongFrame draw_frame(const PongGame& game);

/// The brighter of two frames, for each pixel and colour.
void keep_brighter(PongFrame& frame, const PongFrame& other);

/// The field (rows 34 to 193) in grey, as the mean of red, green and blue / 255, reduced to
/// size x size by the means of squares; size divides 160.
std::vector<float> grey_field(const PongFrame& frame, int64_t size);

/// What an agent may choose from.
///   kEmulator  the emulator's six: noop, fire, right, left, right-fire, left-fire
///   kReduced   the three that differ: noop, right, left
/// Right moves the paddle up, left moves it down; fire changes nothing, as balls are served by
/// themselves.
enum class PongActions { kEmulator, kReduced };
constexpr std::array<std::string_view, 2> enum_names(PongActions) {
  return {"emulator", "reduced"};
}

/// The moves of the actions, in their order.
std::span<const PongMove> moves_of(PongActions actions);

struct PongEnvironmentConfig {
  PongConfig game = {};
  int64_t frame_skip = 4;
  int64_t size = 80;
  int64_t most_noops = 30;
  int64_t longest_game = 10000;
  PongActions actions = PongActions::kEmulator;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("game", game, "the game itself");
    field("frame_skip", frame_skip, "frames that an action lasts; 0 and 1: each frame has its own",
          config::between(0, 1000));
    field("size", size, "rows and columns that an agent sees; divides 160",
          config::between(1, pong::kFrameWidth));
    field("most_noops", most_noops,
          "a game begins with 1 to this many frames without a move (0: none)",
          config::between(0, 1000));
    field("longest_game", longest_game, "actions after which a game is ended",
          config::between(1, 1e6));
    field("actions", actions, "what an agent may choose from");
  }

  /// Throws UsageError that names the field and what it may be.
  void check() const;
  /// Frames that an action lasts.
  int64_t frames_per_action() const { return frame_skip == 0 ? 1 : frame_skip; }
};

/// A game of Pong as an agent meets it (Le et al. 2020, appendix I, and its code): it chooses an
/// action for the next frame_skip frames and sees the field in grey, of each pixel the brightest of
/// the last three frames. (With a skip of less than three frames these are frames of earlier
/// actions too, as in the code.) A game that is over within its frames without a move
/// begins again.
class PongEnvironment {
 public:
  /// Throws UsageError on an impossible configuration.
  PongEnvironment(const PongEnvironmentConfig& config, uint64_t seed);

  struct Outcome {
    int64_t reward = 0;  ///< points won less points lost
    bool ended = false;  ///< no action may follow
  };
  /// Throws UsageError on an action that does not exist, std::logic_error after the end.
  Outcome act(int64_t action);

  /// What the agent sees now, [size, size], from 0 (black) to 1 (white).
  std::vector<float> observation() const;
  /// The same before it is made grey and small.
  PongFrame frame() const;
  const PongGame& game() const { return game_; }
  const PongEnvironmentConfig& configuration() const { return config_; }

 private:
  void show();

  PongEnvironmentConfig config_;
  PongGame game_;
  std::deque<PongGame> shown_;  // as it was in the last three frames that were kept
  int64_t acted_ = 0;
};

/// Brings the brightness of frames to mean 0 and deviation 1 by running means of their mean and
/// deviation, with decay 0.9999 and without bias towards the first value 0. A value.
struct FrameNormaliser {
  double mean = 0, deviation = 0;  ///< the running means, biased
  int64_t frames = 0;

  /// Takes one more frame into the means.
  void take(std::span<const float> frame);
  /// Writes the normalised frame. At least one frame was taken.
  void apply(std::span<const float> frame, std::span<float> normalised) const;
};

}  // namespace tessera::task
