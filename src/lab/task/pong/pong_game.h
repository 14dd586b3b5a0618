#pragma once

#include <cstdint>
#include <deque>

#include "tessera/base/config.h"
#include "tessera/base/random.h"

namespace tessera::task {

struct PongConfig {
  int64_t points = 21;
  double opponent_skill = 0.5;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("points", points, "points that end a game",
          config::between(1, 99));  // two digits on the screen
    field("opponent_skill", opponent_skill,
          "sets its speed and how late it sees the ball: 0 stands still, 1 never misses",
          config::between(0, 1));
  }
};

/// What a player does during one frame.
enum class PongMove { kStay, kUp, kDown };

/// A rectangle of a frame, in pixels: rows count downwards.
struct PongBox {
  double left = 0, top = 0, width = 0, height = 0;
  double middle_row() const { return top + height / 2; }
};

/// The sizes of the field, in pixels and pixels per frame (a frame is 1/60 s). Places and sizes are
/// those of the Atari 2600 game; speeds are our own.
namespace pong {
constexpr int kFrameWidth = 160, kFrameHeight = 210;
constexpr double kFieldTop = 34, kFieldBottom = 194;  // rows between the walls
constexpr double kPaddleWidth = 4, kPaddleHeight = 16;
constexpr double kOpponentFace = 20, kPlayerFace = 140;  // columns where balls are returned
constexpr double kBallWidth = 2, kBallHeight = 4;
constexpr double kPlayerSpeed = 2;
constexpr double kServeSpeed = 2, kSpeedGain = 0.125, kTopSpeed = 3.5;  // of the ball, sideways
constexpr double kSteepest = 1.2;        // largest speed up or down, for a sideways speed of 1
constexpr double kOpponentTopSpeed = 5;  // faster than the steepest ball
constexpr int kLongestLag = 16;          // frames
constexpr int kPause = 20;               // frames between a point and the next serve
}  // namespace pong

/// One game of Pong between the learning player (right) and an opponent of a stated skill (left).
/// A value, and a pure function of its configuration, its seed and the moves.
///
/// The ball leaves a paddle upwards or downwards by how far from the paddle's middle it was hit,
/// and faster with each hit of the rally. The opponent follows the row that the ball had round((1 -
/// skill) kLongestLag) frames ago, at most skill * kOpponentTopSpeed pixels a frame, and hits with
/// a place of its paddle that is drawn for each ball. The ball is served to the side that lost the
/// last point.
class PongGame {
 public:
  /// Throws UsageError on an impossible configuration.
  PongGame(const PongConfig& config, uint64_t seed);

  /// Plays one frame: 1 where the player scored, -1 where the opponent did, else 0. Throws
  /// std::logic_error after the end of the game.
  int play(PongMove move);

  int64_t player_points() const { return player_points_; }
  int64_t opponent_points() const { return opponent_points_; }
  bool over() const;

  PongBox player() const;
  PongBox opponent() const;
  /// Whether a ball is on the field; between a point and the next serve there is none.
  bool ball_in_play() const { return pause_ == 0; }
  PongBox ball() const;
  /// Pixels per frame: sideways (positive: towards the player) and downwards.
  double ball_speed_sideways() const { return speed_x_; }
  double ball_speed_downwards() const { return speed_y_; }

 private:
  void move_opponent();
  void serve();
  void move_ball();
  void return_ball(const PongBox& paddle, double face, int direction);
  int score();

  PongConfig config_;
  RandomStream random_;
  int64_t player_points_ = 0, opponent_points_ = 0;
  double player_top_, opponent_top_;
  int pause_ = 1;  // frames until the next serve
  int serve_direction_;
  double ball_x_ = 0, ball_y_ = 0;  // left and top
  double speed_x_ = 0, speed_y_ = 0;
  int hits_ = 0;                  // of this rally
  double aim_ = 0;                // rows between the opponent's middle and where it hits
  std::deque<double> seen_rows_;  // middle rows of the ball, the latest last
};

/// The row in which the middle of the ball will reach a column if no paddle touches it, after
/// bouncing off the walls. The ball has to be moving towards that column.
double row_of_arrival(const PongGame& game, double column);

}  // namespace tessera::task
