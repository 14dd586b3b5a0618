#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/report/chart.h"

namespace tessera {

/// Pixels with a name.
struct Picture {
  std::string name;
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  ///< row by row: red, green, blue of each pixel
};

/// A rectangle of one colour, in pixels of its picture.
struct ColouredRectangle {
  int left = 0, top = 0, width = 0, height = 0;
  std::string colour;  ///< #rrggbb
};

/// The picture as rectangles, the first of which is all of it, in its most frequent colour. They do
/// not overlap otherwise, and each goes as far to the right and then down as its colour does.
std::vector<ColouredRectangle> even_rectangles(const Picture& picture);

/// Small pictures side by side with their names below, four in a row (two on a telephone). They are
/// drawn as rectangles, so pictures of a few even areas, such as a game's screen, are small.
class PictureStrip : public Chart {
 public:
  using Chart::Chart;

  /// Throws UsageError where the pixels do not fit the size, or the size is not
  /// positive.
  void add(const Picture& picture);

  Drawing draw(ChartWidth width) const override;
  /// One line for each rectangle.
  Table numbers() const override;

 private:
  struct Shown {
    std::string name;
    std::vector<ColouredRectangle> rectangles;
  };
  std::vector<Shown> pictures_;
};

}  // namespace tessera
