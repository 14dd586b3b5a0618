#include "lab/task/pong/pong_game.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tessera::task {
namespace {

using namespace pong;

constexpr double kLargestAim = 5;  // less than half a paddle: such a ball is still returned

double clamp_paddle(double top) {
  return std::clamp(top, kFieldTop, kFieldBottom - kPaddleHeight);
}

bool overlap(const PongBox& a, const PongBox& b) {
  return a.top < b.top + b.height && b.top < a.top + a.height;
}

}  // namespace

PongGame::PongGame(const PongConfig& config, uint64_t seed) : config_(config), random_(seed) {
  config::check_demands(config, "game");
  player_top_ = opponent_top_ = (kFieldTop + kFieldBottom - kPaddleHeight) / 2;
  serve_direction_ = random_.below(2) == 0 ? -1 : 1;
}

bool PongGame::over() const {
  return std::max(player_points_, opponent_points_) >= config_.points;
}

PongBox PongGame::player() const {
  return {kPlayerFace, player_top_, kPaddleWidth, kPaddleHeight};
}

PongBox PongGame::opponent() const {
  return {kOpponentFace - kPaddleWidth, opponent_top_, kPaddleWidth, kPaddleHeight};
}

PongBox PongGame::ball() const {
  return {ball_x_, ball_y_, kBallWidth, kBallHeight};
}

int PongGame::play(PongMove move) {
  if (over()) throw std::logic_error("PongGame: the game is over");
  if (move != PongMove::kStay)
    player_top_ = clamp_paddle(player_top_ + (move == PongMove::kDown ? 1 : -1) * kPlayerSpeed);
  if (pause_ > 0) {
    if (--pause_ == 0) serve();
    return 0;
  }
  move_opponent();
  move_ball();
  return score();
}

void PongGame::serve() {
  ball_x_ = (kFrameWidth - kBallWidth) / 2;
  ball_y_ = kFieldTop + (0.25 + 0.5 * random_.uniform()) * (kFieldBottom - kFieldTop);
  speed_x_ = serve_direction_ * kServeSpeed;
  speed_y_ = (2 * random_.uniform() - 1) * kServeSpeed / 2;
  aim_ = (2 * random_.uniform() - 1) * kLargestAim;
  hits_ = 0;
  seen_rows_.assign(1, ball().middle_row());
}

void PongGame::move_opponent() {
  const auto lag = static_cast<size_t>(std::lround((1 - config_.opponent_skill) * kLongestLag));
  while (seen_rows_.size() > lag + 1) seen_rows_.pop_front();
  const double speed = config_.opponent_skill * kOpponentTopSpeed;
  const double way = seen_rows_.front() + aim_ - opponent().middle_row();
  opponent_top_ = clamp_paddle(opponent_top_ + std::clamp(way, -speed, speed));
}

void PongGame::move_ball() {
  constexpr double kLowest = kFieldBottom - kBallHeight;
  ball_x_ += speed_x_;
  ball_y_ += speed_y_;
  if (ball_y_ < kFieldTop || ball_y_ > kLowest) {
    ball_y_ = 2 * (ball_y_ < kFieldTop ? kFieldTop : kLowest) - ball_y_;
    speed_y_ = -speed_y_;
  }
  seen_rows_.push_back(ball().middle_row());
  const double right = ball_x_ + kBallWidth;
  if (speed_x_ > 0 && right >= kPlayerFace && right - speed_x_ < kPlayerFace)
    return_ball(player(), kPlayerFace - kBallWidth, -1);
  else if (speed_x_ < 0 && ball_x_ <= kOpponentFace && ball_x_ - speed_x_ > kOpponentFace)
    return_ball(opponent(), kOpponentFace, 1);
}

/// face: the ball's column when it touches the paddle.
void PongGame::return_ball(const PongBox& paddle, double face, int direction) {
  if (!overlap(ball(), paddle)) return;
  const double off_middle =
      (ball().middle_row() - paddle.middle_row()) / ((kPaddleHeight + kBallHeight) / 2);
  const double speed = std::min(kServeSpeed + kSpeedGain * ++hits_, kTopSpeed);
  ball_x_ = face;
  speed_x_ = direction * speed;
  speed_y_ = off_middle * kSteepest * speed;
  if (direction < 0) aim_ = (2 * random_.uniform() - 1) * kLargestAim;
}

int PongGame::score() {
  const bool left = ball_x_ + kBallWidth<0, right = ball_x_> kFrameWidth;
  if (!left && !right) return 0;
  pause_ = kPause;
  serve_direction_ = right ? 1 : -1;
  ++(left ? player_points_ : opponent_points_);
  return left ? 1 : -1;
}

double row_of_arrival(const PongGame& game, double column) {
  constexpr double kTop = kFieldTop + kBallHeight / 2,
                   kRows = kFieldBottom - kFieldTop - kBallHeight;
  const PongBox ball = game.ball();
  const double frames = (column - ball.left) / game.ball_speed_sideways();
  const double row = ball.middle_row() + frames * game.ball_speed_downwards() - kTop;
  const double unfolded = std::fmod(std::fmod(row, 2 * kRows) + 2 * kRows, 2 * kRows);
  return kTop + (unfolded <= kRows ? unfolded : 2 * kRows - unfolded);
}

}  // namespace tessera::task
