#include "tessera/report/picture_strip.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tessera/base/error.h"
#include "tessera/report/markup.h"

namespace tessera {
namespace {

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

std::vector<ColouredRectangle> even_rectangles(const Picture& picture) {
  const std::vector<uint32_t> colours = colours_of(picture);
  const uint32_t ground = most_frequent(colours);
  std::vector<ColouredRectangle> found = {{0, 0, picture.width, picture.height, hex(ground)}};
  std::vector<bool> covered(colours.size(), false);
  const auto index = [&](int row, int column) {
    return static_cast<size_t>(row * picture.width + column);
  };
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
  pictures_.push_back({picture.name, even_rectangles(picture)});
}

Drawing PictureStrip::draw(ChartWidth width) const {
  SvgWriter svg;
  ChartFrame frame(svg, width);
  frame.draw_head(title(), {}, "");
  double aspect = 0;  // of the tallest picture
  for (const Shown& shown : pictures_)
    aspect = std::max(aspect, static_cast<double>(shown.rectangles[0].height) /
                                  static_cast<double>(shown.rectangles[0].width));
  const std::vector<Box> tiles = frame.place_tiles(pictures_.size(), aspect);
  for (size_t i = 0; i < pictures_.size(); ++i) {
    const auto& [name, rectangles] = pictures_[i];
    const double scale = tiles[i].width() / rectangles[0].width;
    for (const ColouredRectangle& part : rectangles)
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
