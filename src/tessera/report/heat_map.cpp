#include "tessera/report/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tessera/base/error.h"
#include "tessera/report/text.h"

namespace tessera {
namespace {

constexpr size_t kDrawnCells = 64;

int srgb(double linear) {
  const double value = std::clamp(linear, 0.0, 1.0);
  const double encoded =
      value <= 0.0031308 ? 12.92 * value : 1.055 * std::pow(value, 1 / 2.4) - 0.055;
  return static_cast<int>(std::lround(255 * encoded));
}

double colour_share(const AxisMap& colours, double value) {
  return std::clamp(colours.pixel(value), 0.0, 1.0);  // the axis' pixels are [0, 1]
}

/// Spans exactly the values that it can show, without the margins of other axes.
AxisMap colour_axis(Axis axis, std::vector<double> values) {
  const AxisMap without_bounds({.label = "", .scale = axis.scale}, {});
  std::erase_if(values, [&](double value) { return !without_bounds.can_show(value); });
  if (values.empty()) return AxisMap(axis, values);
  const auto [least, most] = std::ranges::minmax(values);
  if (least < most) {
    axis.low = axis.low.value_or(least);
    axis.high = axis.high.value_or(most);
  }
  return AxisMap(axis, values);
}

std::string hex(const std::array<int, 3>& colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour[0], colour[1], colour[2]);
}

std::string span_name(const std::vector<std::string>& names, size_t first, size_t last) {
  return first == last ? names[first] : names[first] + " to " + names[last];
}

}  // namespace

std::array<int, 3> heat_colour(double share) {
  const double t = std::clamp(share, 0.0, 1.0);
  const double lightness = 0.27 + 0.66 * t;
  const double hue = (275 - 170 * t) * std::numbers::pi / 180;
  const double chroma = 0.09 + 0.06 * t;
  const double a = chroma * std::cos(hue);
  const double b = chroma * std::sin(hue);
  const auto cubed = [](double value) { return value * value * value; };
  const double l = cubed(lightness + 0.3963377774 * a + 0.2158037573 * b);
  const double m = cubed(lightness - 0.1055613458 * a - 0.0638541728 * b);
  const double s = cubed(lightness - 0.0894841775 * a - 1.2914855480 * b);
  return {srgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          srgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          srgb(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

// The matrix as it is drawn: `rows` x `columns` blocks of the values, each its block's mean.
struct HeatMap::Blocks {
  size_t rows = 0;
  size_t columns = 0;
  std::vector<double> means;
};

HeatMap::HeatMap(std::string title, std::vector<std::string> rows, std::vector<std::string> columns,
                 Axis colours)
    : Chart(std::move(title)),
      rows_(std::move(rows)),
      columns_(std::move(columns)),
      colours_(std::move(colours)),
      values_(rows_.size() * columns_.size(), std::nan("")) {}

void HeatMap::name_axes(std::string rows, std::string columns) {
  row_label_ = std::move(rows);
  column_label_ = std::move(columns);
}

void HeatMap::set_values(std::vector<double> values) {
  check_argument(values.size() == rows_.size() * columns_.size(),
                 "HeatMap: '{}' has {} x {} cells, got {} values", title(), rows_.size(),
                 columns_.size(), values.size());
  values_ = std::move(values);
}

void HeatMap::mark(size_t row, size_t column) {
  check_argument(row < rows_.size() && column < columns_.size(),
                 "HeatMap: '{}' has {} x {} cells, cannot mark ({}, {})", title(), rows_.size(),
                 columns_.size(), row, column);
  marked_.emplace_back(row, column);
}

HeatMap::Blocks HeatMap::blocks() const {
  Blocks result{std::min(rows_.size(), kDrawnCells), std::min(columns_.size(), kDrawnCells), {}};
  std::vector<double> sums(result.rows * result.columns, 0);
  std::vector<double> counts(sums.size(), 0);
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!std::isfinite(values_[i])) continue;
    const size_t row = i / columns_.size() * result.rows / rows_.size();
    const size_t column = i % columns_.size() * result.columns / columns_.size();
    sums[row * result.columns + column] += values_[i];
    counts[row * result.columns + column] += 1;
  }
  for (size_t i = 0; i < sums.size(); ++i)
    result.means.push_back(counts[i] > 0 ? sums[i] / counts[i] : std::nan(""));
  return result;
}

void HeatMap::draw_cells(SvgWriter& svg, const Box& plot, const AxisMap& colours,
                         const Blocks& blocks) const {
  const double width = plot.width() / blocks.columns;
  const double height = plot.height() / blocks.rows;
  const double gap = std::min(width, height) > 8 ? 1 : 0;
  const double negligible = 1e-3 * (colours.high() - colours.low());
  const auto first = [](size_t block, size_t drawn, size_t all) {
    return (block * all + drawn - 1) / drawn;
  };
  for (size_t row = 0; row < blocks.rows; ++row) {
    for (size_t column = 0; column < blocks.columns; ++column) {
      const double value = blocks.means[row * blocks.columns + column];
      const double x = plot.left + column * width;
      const double y = plot.top + row * height;
      const std::string place = span_name(rows_, first(row, blocks.rows, rows_.size()),
                                          first(row + 1, blocks.rows, rows_.size()) - 1) +
                                ", " +
                                span_name(columns_, first(column, blocks.columns, columns_.size()),
                                          first(column + 1, blocks.columns, columns_.size()) - 1);
      if (!colours.can_show(value)) {
        svg.rect(x + 1, y + 1, std::max(width - 2, 0.5), std::max(height - 2, 0.5), "missing",
                 place + "\n" + exact_text(value));
        continue;
      }
      const double share = colour_share(colours, value);
      svg.filled_rect(x, y, width - gap, height - gap, hex(heat_colour(share)),
                      place + "\n" + significant_text(value, 6));
      const bool vanishes = colours.scale() == Scale::kLinear && std::abs(value) < negligible;
      const std::string number = vanishes ? "0" : readable_number(significant_text(value, 2));
      if (height < 18 || width < 32 || text_width(number) > width - 4) continue;
      svg.text(x + width / 2, y + height / 2 + 4, number, share < 0.62 ? "on-dark" : "on-light",
               Anchor::kMiddle);
    }
  }
}

void HeatMap::draw_row_names(SvgWriter& svg, const Box& plot) const {
  const double step = plot.height() / rows_.size();
  double free_from = 0;
  for (size_t row = 0; row < rows_.size(); ++row) {
    const double y = plot.top + (row + 0.5) * step;
    if (y < free_from) continue;
    svg.text(plot.left - 8, y + 4, shorten_text(rows_[row], 120), "muted", Anchor::kEnd);
    free_from = y + 15;
  }
}

// The colour scale as an upright bar at the right, with ticks.
void HeatMap::draw_key(SvgWriter& svg, const Box& plot, const AxisMap& colours) const {
  constexpr int kSteps = 48;
  const double x = plot.right + 14;
  const double height = std::min(plot.height(), 220.0);
  for (int i = 0; i < kSteps; ++i) {
    const double top = plot.top + height * i / kSteps;
    svg.filled_rect(x, top, 12, height / kSteps + (i + 1 < kSteps ? 0.6 : 0),
                    hex(heat_colour(1 - (i + 0.5) / kSteps)), "");
  }
  const int most = std::clamp(static_cast<int>(height / 18), 2, 5);
  for (const Tick& tick : colours.ticks(most).ticks) {
    if (tick.label.empty()) continue;
    const double y = plot.top + height * (1 - colours.pixel(tick.value));
    svg.line(x + 12, y, x + 16, y, "axis");
    svg.text(x + 20, y + 4, tick.label, "muted");
  }
}

Drawing HeatMap::draw(ChartWidth width) const {
  SvgWriter svg;
  ChartFrame frame(svg, width);
  const Blocks drawn = blocks();
  const AxisMap colours = colour_axis(colours_, drawn.means);
  const Ticks ticks = colours.ticks(5);
  const std::string colour_label = colours.label(ticks);
  const std::string key_label = colour_label.empty() ? "" : "colour: " + colour_label;
  const std::string between = row_label_.empty() || key_label.empty() ? "" : "  ·  ";
  frame.draw_head(title(), {}, row_label_ + between + key_label);
  const double left = std::min(widest_text(rows_), 120.0) + 10;
  const double right = 26 + label_room(ticks);
  const double room = frame.width() - 32 - left - right;
  const double cell = std::clamp(room / std::max<size_t>(drawn.columns, 1), 3.0, 34.0);
  const double height = std::clamp(cell * drawn.rows, 60.0, frame.is_narrow() ? 300.0 : 460.0);
  frame.place_plot(left, right, height);
  const Box& plot = frame.plot();
  if (!std::ranges::any_of(drawn.means, [&](double value) { return colours.can_show(value); }))
    frame.draw_empty_note();
  if (!values_.empty()) {
    draw_cells(svg, plot, colours, drawn);
    draw_row_names(svg, plot);
  }
  for (const auto& [row, column] : marked_) {
    const double cell_width = plot.width() / columns_.size();
    const double cell_height = plot.height() / rows_.size();
    svg.rect(plot.left + column * cell_width, plot.top + row * cell_height, cell_width, cell_height,
             "marked");
  }
  draw_key(svg, plot, colours);
  frame.draw_x_names(columns_, column_label_);
  if (drawn.rows < rows_.size() || drawn.columns < columns_.size()) {
    frame.draw_notes({fmt::format("{} x {} values, drawn as the means of {} x {} blocks.",
                                  rows_.size(), columns_.size(), drawn.rows, drawn.columns)});
  }
  return frame.finish(
      title(), fmt::format("Heat map of {} rows and {} columns.", rows_.size(), columns_.size()));
}

Table HeatMap::numbers() const {
  std::vector<std::string> header = {row_label_.empty() ? "row" : row_label_};
  header.insert(header.end(), columns_.begin(), columns_.end());
  Table table("", header);
  for (size_t row = 0; row < rows_.size(); ++row) {
    std::vector<Cell> cells = {rows_[row]};
    for (size_t column = 0; column < columns_.size(); ++column)
      cells.push_back(values_[row * columns_.size() + column]);
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace tessera
