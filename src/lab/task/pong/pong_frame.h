#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lab/task/pong/pong_game.h"

namespace tessera::task {

/// A picture of pong::kHeight x pong::kWidth pixels.
struct PongFrame {
  std::vector<uint8_t> rgb;  ///< row by row: red, green, blue of each pixel

  std::array<uint8_t, 3> pixel(int row, int column) const;
};

/// The picture of a game as the screen shows it: background, walls, paddles, ball, both scores.
PongFrame draw_frame(const PongGame& game);

/// The brighter of two frames, for each pixel and colour.
void keep_brighter(PongFrame& frame, const PongFrame& other);

/// The field (rows 34 to 193) in grey, as the mean of red, green and blue / 255, reduced to
/// size x size by the means of squares; size divides 160.
std::vector<float> grey_field(const PongFrame& frame, int64_t size);

}  // namespace tessera::task
