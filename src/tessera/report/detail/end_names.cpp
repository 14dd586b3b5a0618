#include "tessera/report/detail/end_names.h"

#include <algorithm>
#include <cmath>

#include "tessera/report/text.h"

namespace tessera {
namespace {

constexpr double kEndNameHeight = 16;
constexpr double kSampleRoom = 26;  // of a piece of the line before its name

// Where the names stand: in the order of their ends, no two closer than their height.
std::vector<double> heights_of(const std::vector<EndName>& names, const Box& plot) {
  std::vector<double> heights;
  double lowest_free = plot.top;
  for (const EndName& name : names) {
    heights.push_back(std::max(name.y, lowest_free));
    lowest_free = heights.back() + kEndNameHeight;
  }
  double highest_free = plot.bottom;
  for (size_t i = names.size(); i-- > 0;) {
    heights[i] = std::min(heights[i], highest_free);
    highest_free = heights[i] - kEndNameHeight;
  }
  return heights;
}

}  // namespace

double end_name_room(const std::vector<std::string>& names) {
  return names.empty() ? 8 : kSampleRoom + widest_text(names);
}

void draw_end_names(std::vector<EndName> names, const Box& plot, SvgWriter& svg) {
  for (EndName& name : names) {
    name.x = std::clamp(name.x, plot.left, plot.right);
    name.y = std::clamp(name.y, plot.top, plot.bottom);
  }
  std::stable_sort(names.begin(), names.end(),
                   [](const EndName& a, const EndName& b) { return a.y < b.y; });
  const std::vector<double> heights = heights_of(names, plot);
  const double x = plot.right + 8;
  for (size_t i = 0; i < names.size(); ++i) {
    const EndName& name = names[i];
    const double y = heights[i];
    if (x - name.x > 14 || std::abs(y - name.y) > 3)
      svg.path(path_point('M', name.x + 6, name.y) + path_point('L', x, y), "leader");
    draw_sample(svg, name.entry, x, y, 12);
    svg.text(x + 18, y + 4, name.entry.name, "ink");
  }
}

}  // namespace tessera
