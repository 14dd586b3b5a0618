#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/report/chart.h"

namespace tessera {

/// Points in the plane, and lines between them, of which some are marked.
struct Sketch {
  struct Point {
    double x, y;  ///< to the right and upwards, from 0 to 1
    std::string label = {};
  };
  struct Line {
    size_t from, to;  ///< places in `points`
    std::string label = {};
    bool is_marked = false;
  };
  std::string name = {};
  std::vector<Point> points = {};
  std::vector<Line> lines = {};
};

/// Sketches side by side with their names below, four in a row (two on a telephone). Marked lines
/// are drawn last, in the first colour of a series.
class Sketches : public Chart {
 public:
  using Chart::Chart;

  /// Throws UsageError on a point outside of the unit square and on a line that begins
  /// or ends at no point.
  void add(Sketch sketch);

  Drawing draw(ChartWidth width) const override;
  /// One row for each point and for each line.
  Table numbers() const override;

 private:
  std::vector<Sketch> sketches_;
};

/// Pixels with a name.
struct Picture {
  std::string name;
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  ///< row by row: red, green, blue of each pixel
};

/// Small pictures side by side with their names below, four in a row (two on a telephone). They are
/// drawn as rectangles, so pictures of a few even areas, such as a game's screen, are small. The
/// first rectangle of a picture is all of it, in its most frequent colour. The others do not
/// overlap, and each goes as far to the right and then down as its colour does.
class PictureStrip : public Chart {
 public:
  using Chart::Chart;

  /// Throws UsageError where the pixels do not fit the size, or the size is not
  /// positive.
  void add(const Picture& picture);

  Drawing draw(ChartWidth width) const override;
  /// One row for each rectangle: its picture, its place and size in pixels, its colour as #rrggbb.
  Table numbers() const override;

 private:
  /// In pixels of its picture.
  struct Rectangle {
    int left = 0, top = 0, width = 0, height = 0;
    std::string colour;
  };
  struct Shown {
    std::string name;
    std::vector<Rectangle> rectangles;
  };
  static std::vector<Rectangle> rectangles_of(const Picture& picture);

  std::vector<Shown> pictures_;
};

}  // namespace tessera
