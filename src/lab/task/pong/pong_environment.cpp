#include "lab/task/pong/pong_environment.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string_view>

#include "tessera/base/error.h"

namespace tessera::task {

namespace {

using namespace pong;

using Colour = std::array<uint8_t, 3>;
constexpr Colour kBackground = {144, 72, 17}, kWall = {236, 236, 236},
                 kBallColour = {236, 236, 236};
constexpr Colour kOpponentColour = {213, 130, 74}, kPlayerColour = {92, 186, 92};

constexpr double kWallTop = 24, kDigitTop = 2, kDigitPixel = 4;  // digits are 3 x 5 squares
constexpr std::array<std::string_view, 10> kDigitShapes = {
    "####.##.##.####", ".#.##..#..#.###", "###..#####..###", "###..####..####", "#.##.####..#..#",
    "####..###..####", "####..####.####", "###..#..#..#..#", "####.#####.####", "####.####..####"};

void fill(PongFrame& frame, const PongBox& box, const Colour& colour) {
  const auto edge = [](double place, int most) {
    return std::clamp(static_cast<int>(std::lround(place)), 0, most);
  };
  const int top = edge(box.top, kFrameHeight), bottom = edge(box.top + box.height, kFrameHeight);
  const int left = edge(box.left, kFrameWidth), right = edge(box.left + box.width, kFrameWidth);
  for (int row = top; row < bottom; ++row) {
    uint8_t* pixel = frame.rgb.data() + 3 * (row * kFrameWidth + left);
    for (int column = left; column < right; ++column)
      for (const uint8_t value : colour) *pixel++ = value;
  }
}

void draw_digit(PongFrame& frame, std::string_view squares, double left, const Colour& colour) {
  for (int i = 0; i < 15; ++i)
    if (squares[i] == '#')
      fill(frame,
           {left + (i % 3) * kDigitPixel, kDigitTop + (i / 3) * kDigitPixel, kDigitPixel,
            kDigitPixel},
           colour);
}

/// A score of one or two digits whose last one ends at column `right`.
void draw_score(PongFrame& frame, int64_t points, double right, const Colour& colour) {
  do {
    draw_digit(frame, kDigitShapes[points % 10], right - 3 * kDigitPixel, colour);
    right -= 4 * kDigitPixel;
    points /= 10;
  } while (points > 0);
}

PongFrame empty_field() {
  PongFrame frame{std::vector<uint8_t>(3 * kFrameHeight * kFrameWidth)};
  fill(frame, {0, 0, kFrameWidth, kFrameHeight}, kBackground);
  fill(frame, {0, kWallTop, kFrameWidth, kFieldTop - kWallTop}, kWall);
  fill(frame, {0, kFieldBottom, kFrameWidth, kFrameHeight - kFieldBottom}, kWall);
  return frame;
}

}  // namespace

PongFrame draw_frame(const PongGame& game) {
  static const PongFrame kEmpty = empty_field();
  PongFrame frame = kEmpty;
  draw_score(frame, game.opponent_points(), 56, kOpponentColour);
  draw_score(frame, game.player_points(), 136, kPlayerColour);
  fill(frame, game.opponent(), kOpponentColour);
  fill(frame, game.player(), kPlayerColour);
  if (game.ball_in_play()) fill(frame, game.ball(), kBallColour);
  return frame;
}

void keep_brighter(PongFrame& frame, const PongFrame& other) {
  std::transform(frame.rgb.begin(), frame.rgb.end(), other.rgb.begin(), frame.rgb.begin(),
                 [](uint8_t a, uint8_t b) { return std::max(a, b); });
}

std::vector<float> grey_field(const PongFrame& frame, int64_t size) {
  constexpr int64_t kValues = 3 * kFrameWidth;  // of a row
  const int64_t side = kFrameWidth / size;      // of a square, in pixels
  const float scale = 1.0f / (255.0f * 3.0f * static_cast<float>(side * side));
  const uint8_t* pixels = frame.rgb.data() + static_cast<int64_t>(kFieldTop) * kValues;
  std::vector<float> grey;
  grey.reserve(size * size);
  for (int64_t row = 0; row < size; ++row) {
    std::array<uint16_t, kValues> sums{};  // down the squares of this row: at most 160 * 255
    for (int64_t y = 0; y < side; ++y, pixels += kValues)
      for (int64_t i = 0; i < kValues; ++i) sums[i] = static_cast<uint16_t>(sums[i] + pixels[i]);
    for (int64_t cell = 0; cell < size; ++cell) {
      const auto first = sums.begin() + 3 * cell * side;
      grey.push_back(static_cast<float>(std::accumulate(first, first + 3 * side, 0)) * scale);
    }
  }
  return grey;
}

namespace {

constexpr size_t kFramesShown = 3;
constexpr uint64_t kNoopStream = 1;  // of the seed; the game itself reads stream 0
constexpr double kDecay = 0.9999, kLeastDeviation = 1e-8;

constexpr PongMove kEmulatorMoves[] = {PongMove::kStay, PongMove::kStay, PongMove::kUp,
                                       PongMove::kDown, PongMove::kUp,   PongMove::kDown};
constexpr PongMove kReducedMoves[] = {PongMove::kStay, PongMove::kUp, PongMove::kDown};

}  // namespace

std::span<const PongMove> moves_of(PongActions actions) {
  if (actions == PongActions::kEmulator) return kEmulatorMoves;
  return kReducedMoves;
}

void PongEnvironmentConfig::check() const {
  config::check_demands(*this, "environment");
  if (pong::kFrameWidth % size != 0)
    throw UsageError("environment.size is {}, expected a divisor of {}", size, pong::kFrameWidth);
}

PongEnvironment::PongEnvironment(const PongEnvironmentConfig& config, uint64_t seed)
    : config_(config::checked(config)), game_(config.game, seed) {
  RandomStream random(seed, kNoopStream);
  const uint64_t noops = config.most_noops > 0 ? 1 + random.below(config.most_noops) : 0;
  for (uint64_t frame = 0; frame < noops; ++frame) {
    game_.play(PongMove::kStay);
    if (game_.over()) game_ = PongGame(config.game, seed);  // so that an action may follow
  }
  show();
}

void PongEnvironment::show() {
  shown_.push_back(game_);
  if (shown_.size() > kFramesShown) shown_.pop_front();
}

PongEnvironment::Outcome PongEnvironment::act(int64_t action) {
  const auto moves = moves_of(config_.actions);
  check_argument(action >= 0 && action < std::ssize(moves),
                 "PongEnvironment: action is {}, expected 0 to {}", action, moves.size() - 1);
  if (game_.over() || acted_ >= config_.longest_game)
    throw std::logic_error("PongEnvironment: the game has ended");
  const int64_t frames = config_.frames_per_action();
  Outcome outcome;
  for (int64_t frame = 0; frame < frames && !game_.over(); ++frame) {
    outcome.reward += game_.play(moves[action]);
    show();
  }
  outcome.ended = ++acted_ >= config_.longest_game || game_.over();
  return outcome;
}

PongFrame PongEnvironment::frame() const {
  PongFrame brightest = draw_frame(shown_.front());
  for (size_t i = 1; i < shown_.size(); ++i) keep_brighter(brightest, draw_frame(shown_[i]));
  return brightest;
}

std::vector<float> PongEnvironment::observation() const {
  return grey_field(frame(), config_.size);
}

void FrameNormaliser::take(std::span<const float> frame) {
  double sum = 0, squares = 0;
  for (const float value : frame) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const double count = static_cast<double>(frame.size()), average = sum / count;
  mean = kDecay * mean + (1 - kDecay) * average;
  deviation = kDecay * deviation +
              (1 - kDecay) * std::sqrt(std::max(squares / count - average * average, 0.0));
  ++frames;
}

void FrameNormaliser::apply(std::span<const float> frame, std::span<float> normalised) const {
  const double unbiased = 1 / (1 - std::pow(kDecay, static_cast<double>(frames)));
  const double centre = mean * unbiased, scale = 1 / (deviation * unbiased + kLeastDeviation);
  std::transform(frame.begin(), frame.end(), normalised.begin(),
                 [&](float value) { return static_cast<float>((value - centre) * scale); });
}

}  // namespace tessera::task
