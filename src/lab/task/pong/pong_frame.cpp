#include "lab/task/pong/pong_frame.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

namespace tessera::task {
namespace {

using namespace pong;

using Colour = std::array<uint8_t, 3>;
constexpr Colour kBackground = {144, 72, 17}, kWall = {236, 236, 236},
                 kBallColour = {236, 236, 236};
constexpr Colour kOpponentColour = {213, 130, 74}, kPlayerColour = {92, 186, 92};

constexpr double kWallTop = 24, kDigitTop = 2, kDigitPixel = 4;  // digits are 3 x 5 squares
constexpr std::array<std::string_view, 10> kDigits = {
    "####.##.##.####", ".#.##..#..#.###", "###..#####..###", "###..####..####", "#.##.####..#..#",
    "####..###..####", "####..####.####", "###..#..#..#..#", "####.#####.####", "####.####..####"};

void fill(PongFrame& frame, const PongBox& box, const Colour& colour) {
  const auto edge = [](double place, int most) {
    return std::clamp(static_cast<int>(std::lround(place)), 0, most);
  };
  const int top = edge(box.top, kHeight), bottom = edge(box.top + box.height, kHeight);
  const int left = edge(box.left, kWidth), right = edge(box.left + box.width, kWidth);
  for (int row = top; row < bottom; ++row) {
    uint8_t* pixel = frame.rgb.data() + 3 * (row * kWidth + left);
    for (int column = left; column < right; ++column)
      for (const uint8_t value : colour) *pixel++ = value;
  }
}

void draw_digit(PongFrame& frame, std::string_view squares, double left, const Colour& colour) {
  for (int i = 0; i < 15; ++i)
    if (squares[static_cast<size_t>(i)] == '#')
      fill(frame,
           {left + (i % 3) * kDigitPixel, kDigitTop + (i / 3) * kDigitPixel, kDigitPixel,
            kDigitPixel},
           colour);
}

/// A score of one or two digits whose last one ends at column `right`.
void draw_score(PongFrame& frame, int64_t points, double right, const Colour& colour) {
  do {
    draw_digit(frame, kDigits[static_cast<size_t>(points % 10)], right - 3 * kDigitPixel, colour);
    right -= 4 * kDigitPixel;
    points /= 10;
  } while (points > 0);
}

PongFrame empty_field() {
  PongFrame frame{std::vector<uint8_t>(3 * kHeight * kWidth)};
  fill(frame, {0, 0, kWidth, kHeight}, kBackground);
  fill(frame, {0, kWallTop, kWidth, kFieldTop - kWallTop}, kWall);
  fill(frame, {0, kFieldBottom, kWidth, kHeight - kFieldBottom}, kWall);
  return frame;
}

}  // namespace

std::array<uint8_t, 3> PongFrame::pixel(int row, int column) const {
  const auto first = static_cast<size_t>(3 * (row * kWidth + column));
  return {rgb.at(first), rgb.at(first + 1), rgb.at(first + 2)};
}

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
  constexpr int64_t kValues = 3 * kWidth;  // of a row
  const int64_t side = kWidth / size;      // of a square, in pixels
  const float scale = 1.0f / (255.0f * 3.0f * static_cast<float>(side * side));
  const uint8_t* pixels = frame.rgb.data() + static_cast<int64_t>(kFieldTop) * kValues;
  std::vector<float> grey;
  grey.reserve(static_cast<size_t>(size * size));
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

}  // namespace tessera::task
