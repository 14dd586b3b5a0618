#include "tessera/report/sketches.h"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/base/error.h"

namespace tessera {
namespace {

constexpr double kMargin = 14;  // around the points, for their marks and labels

/// A pixel.
struct Place {
  double x, y;
};

Place place_of(const Sketch::Point& point, const Box& tile) {
  return {tile.left + kMargin + point.x * (tile.width() - 2 * kMargin),
          tile.bottom - kMargin - point.y * (tile.height() - 2 * kMargin)};
}

void draw_lines(const Sketch& sketch, bool marked, const Box& tile, SvgWriter& svg) {
  for (const Sketch::Line& line : sketch.lines) {
    if (line.is_marked != marked) continue;
    const Place a = place_of(sketch.points[line.from], tile);
    const Place b = place_of(sketch.points[line.to], tile);
    svg.line(a.x, a.y, b.x, b.y, marked ? "s0 line" : "axis");
    if (!line.label.empty())
      svg.text((a.x + b.x) / 2 + 3, (a.y + b.y) / 2 - 3, line.label, "muted", Anchor::kMiddle);
  }
}

void draw_points(const Sketch& sketch, const Box& tile, SvgWriter& svg) {
  for (const Sketch::Point& point : sketch.points) {
    const Place place = place_of(point, tile);
    svg.marker(place.x, place.y, 0, "s7 fill", point.label);
    if (!point.label.empty()) svg.text(place.x + 6, place.y - 5, point.label, "ink");
  }
}

}  // namespace

void Sketches::add(Sketch sketch) {
  const auto is_inside = [](double value) { return value >= 0 && value <= 1; };
  for (const Sketch::Point& point : sketch.points)
    check_argument(is_inside(point.x) && is_inside(point.y),
                   "Sketches: '{}' has a point at {}, {}, expected 0 to 1", sketch.name, point.x,
                   point.y);
  for (const Sketch::Line& line : sketch.lines)
    check_argument(std::max(line.from, line.to) < sketch.points.size(),
                   "Sketches: '{}' has a line from point {} to {} and {} points", sketch.name,
                   line.from, line.to, sketch.points.size());
  sketches_.push_back(std::move(sketch));
}

Drawing Sketches::draw(ChartWidth width) const {
  SvgWriter svg;
  ChartFrame frame(svg, width);
  frame.draw_head(title(), {}, "");
  const std::vector<Box> tiles = frame.place_tiles(sketches_.size(), /*aspect=*/1);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    draw_lines(sketches_[i], /*marked=*/false, tiles[i], svg);
    draw_lines(sketches_[i], /*marked=*/true, tiles[i], svg);
    draw_points(sketches_[i], tiles[i], svg);
    frame.draw_tile_name(tiles[i], sketches_[i].name);
  }
  if (sketches_.empty()) frame.draw_empty_note();
  return frame.finish(title(), fmt::format("{} sketches.", sketches_.size()));
}

Table Sketches::numbers() const {
  Table table("", {"sketch", "part", "x or from", "y or to", "label", "marked"});
  for (const Sketch& sketch : sketches_) {
    for (const Sketch::Point& point : sketch.points)
      table.add_row({sketch.name, "point", point.x, point.y, point.label, ""});
    for (const Sketch::Line& line : sketch.lines)
      table.add_row({sketch.name, "line", static_cast<int64_t>(line.from),
                     static_cast<int64_t>(line.to), line.label, line.is_marked ? "yes" : "no"});
  }
  return table;
}

}  // namespace tessera
