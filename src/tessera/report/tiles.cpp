#include "tessera/report/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tessera/base/error.h"

namespace tessera {
namespace {

constexpr double kMargin = 18;  // around the points, for their marks and labels

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
  }
}

// On the lines and nearer to their beginnings: in their middles the diagonals of a figure meet.
void draw_line_labels(const Sketch& sketch, const Box& tile, SvgWriter& svg) {
  for (const Sketch::Line& line : sketch.lines) {
    if (line.label.empty()) continue;
    const Place a = place_of(sketch.points[line.from], tile);
    const Place b = place_of(sketch.points[line.to], tile);
    svg.text(a.x + 0.4 * (b.x - a.x), a.y + 0.4 * (b.y - a.y) + 4, line.label, "muted halo",
             Anchor::kMiddle);
  }
}

Place middle_of(const Sketch& sketch, const Box& tile) {
  Place sum = {0, 0};
  for (const Sketch::Point& point : sketch.points) {
    const Place place = place_of(point, tile);
    sum = {sum.x + place.x, sum.y + place.y};
  }
  const double count = std::max<size_t>(sketch.points.size(), 1);
  return {sum.x / count, sum.y / count};
}

// Labels stand on the outer sides of their points, where fewer lines are.
void draw_points(const Sketch& sketch, const Box& tile, SvgWriter& svg) {
  constexpr double kDistance = 12;
  const Place middle = middle_of(sketch, tile);
  for (const Sketch::Point& point : sketch.points) {
    const Place place = place_of(point, tile);
    svg.marker(place.x, place.y, 0, "s7 fill", point.label);
    if (point.label.empty()) continue;
    const double x = place.x - middle.x, y = place.y - middle.y, length = std::hypot(x, y);
    const Place out = length > 0 ? Place{x / length, y / length} : Place{0, -1};
    svg.text(place.x + kDistance * out.x, place.y + kDistance * out.y + 4, point.label, "ink halo",
             Anchor::kMiddle);
  }
}

/// The colour of each pixel as one number.
std::vector<uint32_t> colours_of(const Picture& picture) {
  std::vector<uint32_t> colours;
  for (size_t i = 0; i + 2 < picture.rgb.size(); i += 3)
    colours.push_back(uint32_t{picture.rgb[i]} << 16 | uint32_t{picture.rgb[i + 1]} << 8 |
                      picture.rgb[i + 2]);
  return colours;
}

uint32_t most_frequent(const std::vector<uint32_t>& colours) {
  std::map<uint32_t, int> counts;
  for (const uint32_t colour : colours) ++counts[colour];
  return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })
      ->first;
}

std::string hex(uint32_t colour) {
  return fmt::format("#{:06x}", colour);
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
  for (size_t i = 0; i < tiles.size(); ++i) {
    draw_lines(sketches_[i], /*marked=*/false, tiles[i], svg);
    draw_lines(sketches_[i], /*marked=*/true, tiles[i], svg);
    draw_line_labels(sketches_[i], tiles[i], svg);
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
      table.add_row(
          {sketch.name, "line", line.from, line.to, line.label, line.is_marked ? "yes" : "no"});
  }
  return table;
}

/// The picture has pixels.
std::vector<PictureStrip::Rectangle> PictureStrip::rectangles_of(const Picture& picture) {
  const std::vector<uint32_t> colours = colours_of(picture);
  const uint32_t ground = most_frequent(colours);
  std::vector<Rectangle> found = {{0, 0, picture.width, picture.height, hex(ground)}};
  std::vector<bool> covered(colours.size(), false);
  const auto index = [&](int row, int column) { return row * picture.width + column; };
  for (int top = 0; top < picture.height; ++top)
    for (int left = 0; left < picture.width; ++left) {
      const uint32_t colour = colours[index(top, left)];
      const auto open = [&](int row, int column) {
        return colours[index(row, column)] == colour && !covered[index(row, column)];
      };
      if (colour == ground || covered[index(top, left)]) continue;
      int right = left + 1, bottom = top + 1;
      while (right < picture.width && open(top, right)) ++right;
      const auto row_is_open = [&](int row) {
        for (int column = left; column < right; ++column)
          if (!open(row, column)) return false;
        return true;
      };
      while (bottom < picture.height && row_is_open(bottom)) ++bottom;
      for (int row = top; row < bottom; ++row)
        for (int column = left; column < right; ++column) covered[index(row, column)] = true;
      found.push_back({left, top, right - left, bottom - top, hex(colour)});
    }
  return found;
}

void PictureStrip::add(const Picture& picture) {
  check_argument(picture.width > 0 && picture.height > 0 &&
                     picture.rgb.size() == size_t{3} * static_cast<size_t>(picture.width) *
                                               static_cast<size_t>(picture.height),
                 "PictureStrip: '{}' is {} x {} pixels and has {} values, expected 3 for each",
                 picture.name, picture.width, picture.height, picture.rgb.size());
  pictures_.push_back({picture.name, rectangles_of(picture)});
}

Drawing PictureStrip::draw(ChartWidth width) const {
  SvgWriter svg;
  ChartFrame frame(svg, width);
  frame.draw_head(title(), {}, "");
  double aspect = 0;  // of the tallest picture
  for (const Shown& shown : pictures_)
    aspect = std::max(aspect, 1.0 * shown.rectangles[0].height / shown.rectangles[0].width);
  const std::vector<Box> tiles = frame.place_tiles(pictures_.size(), aspect);
  for (size_t i = 0; i < pictures_.size(); ++i) {
    const auto& [name, rectangles] = pictures_[i];
    const double scale = tiles[i].width() / rectangles[0].width;
    for (const Rectangle& part : rectangles)
      svg.filled_rect(tiles[i].left + scale * part.left, tiles[i].top + scale * part.top,
                      scale * part.width, scale * part.height, part.colour, "");
    frame.draw_tile_name(tiles[i], name);
  }
  if (pictures_.empty()) frame.draw_empty_note();
  return frame.finish(title(), fmt::format("{} pictures.", pictures_.size()));
}

Table PictureStrip::numbers() const {
  Table table("", {"picture", "left", "top", "width", "height", "colour"});
  for (const auto& [name, rectangles] : pictures_)
    for (const auto& [left, top, width, height, colour] : rectangles)
      table.add_row({name, left, top, width, height, colour});
  return table;
}

}  // namespace tessera
