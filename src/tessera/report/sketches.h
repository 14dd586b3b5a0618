#pragma once

#include <cstddef>
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
    std::size_t from, to;  ///< places in `points`
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

}  // namespace tessera
