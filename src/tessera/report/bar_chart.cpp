#include "tessera/report/bar_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/report/text.h"

namespace tessera {

BarChart::BarChart(std::string title, std::vector<std::string> groups, std::string x_label,
                   std::string y_label)
    : Chart(std::move(title)),
      groups_(std::move(groups)),
      x_label_(std::move(x_label)),
      y_label_(std::move(y_label)) {}

void BarChart::add(std::string name, std::vector<double> values, std::vector<double> spreads) {
  check_argument(values.size() == groups_.size(),
                 "BarChart: '{}' has {} groups, the series '{}' has {} values", title(),
                 groups_.size(), name, values.size());
  check_argument(spreads.empty() || spreads.size() == groups_.size(),
                 "BarChart: '{}' has {} groups, the series '{}' has {} spreads", title(),
                 groups_.size(), name, spreads.size());
  bars_.push_back({std::move(name), std::move(values), std::move(spreads)});
}

void BarChart::draw_bars(SvgWriter& svg, const Box& plot, const AxisMap& y, size_t index) const {
  const Bars& bars = bars_[index];
  const double group_width = plot.width() / groups_.size();
  const double room = std::min(0.76 * group_width, 44.0 * bars_.size());
  const double step = room / bars_.size();
  const double bar_width = step > 4 ? step - 1.5 : step;
  const std::string colour = fmt::format("s{}", index % kSeriesColours);
  for (size_t group = 0; group < groups_.size(); ++group) {
    const double value = bars.values[group];
    if (!y.can_show(value)) continue;
    const double left = plot.left + (group + 0.5) * group_width - room / 2 + index * step;
    const double top = std::min(y.pixel(value), y.pixel(0));
    const double height = std::abs(y.pixel(value) - y.pixel(0));
    std::string tip =
        fmt::format("{}{}{}\n{}", groups_[group], bars.name.empty() ? "" : "\n", bars.name,
                    (y_label_.empty() ? "" : y_label_ + ": ") + significant_text(value, 6));
    const bool has_spread = !bars.spreads.empty() && std::isfinite(bars.spreads[group]);
    if (has_spread) tip += " ± " + significant_text(bars.spreads[group], 3);
    svg.rect(left, top, bar_width, std::max(height, 0.75), colour + " bar", tip);
    if (!has_spread) continue;
    const double middle = left + bar_width / 2;
    svg.line(middle, y.pixel(value - bars.spreads[group]), middle,
             y.pixel(value + bars.spreads[group]), "bar-whisker");
  }
}

Drawing BarChart::draw(ChartWidth width) const {
  std::vector<double> reach;
  size_t shown = 0;
  for (const Bars& bars : bars_) {
    for (size_t group = 0; group < groups_.size(); ++group) {
      if (!std::isfinite(bars.values[group])) continue;
      ++shown;
      const double spread = bars.spreads.empty() ? 0 : std::abs(bars.spreads[group]);
      const double whisker = std::isfinite(spread) ? spread : 0;
      reach.push_back(bars.values[group] + whisker);
      reach.push_back(bars.values[group] - whisker);
    }
  }
  if (shown > 0) reach.push_back(0);
  if (shown > 0 && std::ranges::all_of(reach, [](double value) { return value == 0; }))
    reach.push_back(1);  // bars of 0 stand at the lower end
  SvgWriter svg;
  ChartFrame frame(svg, width);
  AxisMap y({.label = y_label_}, reach);
  const Ticks ticks = y.ticks(frame.is_narrow() ? 5 : 6);
  std::vector<LegendEntry> legend;
  for (size_t i = 0; i < bars_.size() && bars_.size() > 1; ++i) {
    legend.push_back(
        {bars_[i].name, fmt::format("s{}", i % kSeriesColours), 0, LegendEntry::Kind::kBar});
  }
  frame.draw_head(title(), legend, y.label(ticks));
  frame.place_plot(label_room(ticks), 0, frame.is_narrow() ? 200 : 280);
  const Box& plot = frame.plot();
  y.set_pixels(plot.bottom, plot.top);
  frame.draw_y_axis(y, ticks);
  for (size_t i = 0; i < bars_.size() && !groups_.empty(); ++i) draw_bars(svg, plot, y, i);
  svg.line(plot.left, y.pixel(0), plot.right, y.pixel(0), "axis");
  frame.draw_x_names(groups_, x_label_);
  if (shown == 0) frame.draw_empty_note();
  return frame.finish(title(),
                      fmt::format("Bar chart of {} values in {} groups.", shown, groups_.size()));
}

Table BarChart::numbers() const {
  Table table("", {"series", x_label_.empty() ? "group" : x_label_,
                   y_label_.empty() ? "value" : y_label_, "spread"});
  for (const Bars& bars : bars_) {
    for (size_t group = 0; group < groups_.size(); ++group) {
      table.add_row({bars.name, groups_[group], bars.values[group],
                     bars.spreads.empty() ? Cell() : Cell(bars.spreads[group])});
    }
  }
  return table;
}

}  // namespace tessera
