#include "tessera/report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/report/detail/end_names.h"
#include "tessera/report/detail/thin_line.h"
#include "tessera/report/text.h"

namespace tessera {

std::string legend_name(const Series& series) {
  if (series.style == SeriesStyle::kPublished) return series.name + " (published)";
  if (series.style == SeriesStyle::kHollow) return fmt::format("{} ({})", series.name, series.is);
  return series.name;
}

LineChart::LineChart(std::string title, Axis x, Axis y)
    : Chart(std::move(title)), x_(std::move(x)), y_(std::move(y)) {}

void LineChart::add(Series series) {
  series_.push_back(std::move(series));
}

void LineChart::mark(double x, std::string name) {
  marks_.push_back({x, std::move(name)});
}

Table LineChart::numbers() const {
  Table table("", {"series", x_.label.empty() ? "x" : x_.label, y_.label.empty() ? "y" : y_.label,
                   "spread"});
  for (const Series& series : series_) {
    for (const ChartPoint& point : series.points) {
      table.add_row({legend_name(series), point.x, point.y,
                     std::isnan(point.spread) ? Cell() : Cell(point.spread)});
    }
  }
  for (const ChartMark& mark : marks_) table.add_row({mark.name, mark.x, Cell(), Cell()});
  return table;
}

namespace {

constexpr size_t kDrawnPoints = 300;
constexpr size_t kVisibleMarkers = 40;
constexpr size_t kHoverPoints = 80;
constexpr size_t kHoverPerMarker = 10;  // on a line of many points
constexpr size_t kNamesAtLines = 10;
constexpr double kEndNamesRoom = 220;
constexpr double kMarkNameHeight = 16;
constexpr size_t kMarkRows = 2;

struct Pixel {
  double x = 0;
  double y = 0;
};

// A stretch of a line without gaps, thinned: indices into the series' points.
using Stretch = std::vector<size_t>;

std::string colour_class(int colour) {
  return colour < 0 ? "" : fmt::format("s{}", colour % kSeriesColours);
}

// Whether a series stands beside another one of its name, in that one's colour.
bool stands_beside(const Series& series) {
  return series.style == SeriesStyle::kPublished || series.style == SeriesStyle::kHollow;
}

class LineChartDrawing {
 public:
  LineChartDrawing(const LineChart& chart, const Axis& x, const Axis& y, ChartWidth width);
  Drawing draw();

 private:
  bool can_show(const ChartPoint& point) const {
    return x_.can_show(point.x) && y_.can_show(point.y);
  }
  Pixel pixel(const ChartPoint& point) const { return {x_.pixel(point.x), y_.pixel(point.y)}; }
  std::vector<Stretch> stretches(const Series& series) const;
  void choose_colours();
  bool is_named_by_ours(size_t index) const;
  std::string reference_classes(size_t index) const;
  bool has_markers(const Series& series) const;
  std::vector<std::string> names() const;
  LegendEntry entry_of(size_t index) const;
  std::vector<LegendEntry> legend() const;
  void draw_marks();
  void draw_series(size_t index);
  void draw_spread(const Series& series, const Stretch& stretch, const std::string& colour);
  void draw_markers(const Series& series, const std::vector<Stretch>& stretches,
                    const std::string& colour, int shape);
  std::string tip(const Series& series, const ChartPoint& point) const;
  std::string description(size_t shown) const;

  const LineChart& chart_;
  const Axis& x_axis_;
  const Axis& y_axis_;
  AxisMap x_;
  AxisMap y_;
  SvgWriter svg_;
  ChartFrame frame_;
  bool names_at_lines_;
  std::vector<int> colours_;  // per series; -1 for a grey reference
  std::vector<EndName> end_names_;
};

std::vector<double> x_values(const LineChart& chart) {
  std::vector<double> values;
  for (const Series& series : chart.series()) {
    for (const ChartPoint& point : series.points) values.push_back(point.x);
  }
  return values;
}

// The lower end of a band, on a log axis as far below a point as the upper end is above it.
double lower_end(double y, double spread, Scale scale) {
  return scale == Scale::kLog ? y * (y / (y + spread)) : y - spread;
}

std::vector<double> y_values(const LineChart& chart, Scale scale) {
  std::vector<double> values;
  for (const Series& series : chart.series()) {
    for (const ChartPoint& point : series.points) {
      values.push_back(point.y);
      values.push_back(lower_end(point.y, point.spread, scale));
      values.push_back(point.y + point.spread);
    }
  }
  return values;
}

LineChartDrawing::LineChartDrawing(const LineChart& chart, const Axis& x, const Axis& y,
                                   ChartWidth width)
    : chart_(chart),
      x_axis_(x),
      y_axis_(y),
      x_(x, x_values(chart)),
      y_(y, y_values(chart, y.scale)),
      frame_(svg_, width) {
  const bool only_lines = std::ranges::none_of(chart.series(), [](const Series& series) {
    return series.style == SeriesStyle::kPoints || series.style == SeriesStyle::kHollow;
  });
  names_at_lines_ = !frame_.is_narrow() && only_lines && names().size() <= kNamesAtLines &&
                    end_name_room(names()) <= kEndNamesRoom;
  choose_colours();
}

// A published or hollow series takes the colour of ours of the same name, or the next free one.
void LineChartDrawing::choose_colours() {
  const auto& all = chart_.series();
  colours_.assign(all.size(), -1);
  const auto colour_of_name = [&](const std::string& name) {
    int colour = -1;
    for (size_t i = 0; i < all.size(); ++i)
      if (colours_[i] >= 0 && all[i].name == name) colour = colours_[i];
    return colour;
  };
  int next = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].style == SeriesStyle::kLine || all[i].style == SeriesStyle::kPoints)
      colours_[i] = next++;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (!stands_beside(all[i])) continue;
    colours_[i] = colour_of_name(all[i].name);
    if (colours_[i] < 0) colours_[i] = next++;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].style == SeriesStyle::kReference && !all[i].colour_of.empty())
      colours_[i] = colour_of_name(all[i].colour_of);
  }
}

// The grey references of one chart are dashed in different ways.
std::string LineChartDrawing::reference_classes(size_t index) const {
  if (colours_[index] >= 0) return colour_class(colours_[index]) + " reference coloured";
  const auto& all = chart_.series();
  std::ptrdiff_t before = 0;
  for (size_t i = 0; i < index; ++i)
    before += all[i].style == SeriesStyle::kReference && colours_[i] < 0;
  constexpr const char* kClasses[] = {"reference", "reference second", "reference third",
                                      "reference fourth"};
  return kClasses[before % 4];
}

// Whether this is a published or hollow series beside one of ours that already carries its name.
bool LineChartDrawing::is_named_by_ours(size_t index) const {
  const auto& all = chart_.series();
  if (!stands_beside(all[index])) return false;
  return std::any_of(all.begin(), all.end(), [&](const Series& other) {
    return !stands_beside(other) && other.name == all[index].name;
  });
}

// Lines of many points need none where there is only one colour.
bool LineChartDrawing::has_markers(const Series& series) const {
  if (series.style == SeriesStyle::kReference) return false;
  const auto shown = std::ranges::count_if(
      series.points, [this](const ChartPoint& point) { return can_show(point); });
  return series.style != SeriesStyle::kLine || std::cmp_less_equal(shown, kVisibleMarkers) ||
         std::ranges::max(colours_) > 0;
}

std::vector<std::string> LineChartDrawing::names() const {
  std::vector<std::string> result;
  for (size_t i = 0; i < chart_.series().size(); ++i)
    if (!is_named_by_ours(i)) result.push_back(legend_name(chart_.series()[i]));
  return result;
}

LegendEntry LineChartDrawing::entry_of(size_t index) const {
  using Kind = LegendEntry::Kind;
  const Series& series = chart_.series()[index];
  const std::string name = legend_name(series);
  const int shape = std::max(colours_[index], 0);
  const std::string colour = colour_class(colours_[index]);
  switch (series.style) {
    case SeriesStyle::kLine:
      return {name, colour, shape, has_markers(series) ? Kind::kLine : Kind::kPlainLine};
    case SeriesStyle::kPoints:
      return {name, colour, shape, Kind::kMarker};
    case SeriesStyle::kHollow:
      return {name, colour, shape, Kind::kHollowMarker};
    case SeriesStyle::kPublished:
      return {name, colour, shape, Kind::kHollowLine};
    case SeriesStyle::kReference:
      return {name, reference_classes(index), shape, Kind::kReference};
  }
  return {};
}

std::vector<LegendEntry> LineChartDrawing::legend() const {
  std::vector<LegendEntry> entries;
  const auto& all = chart_.series();
  bool any_published = false;
  std::string hollow;
  for (size_t i = 0; i < all.size(); ++i) {
    any_published = any_published || all[i].style == SeriesStyle::kPublished;
    if (all[i].style == SeriesStyle::kHollow && is_named_by_ours(i)) hollow = all[i].is;
    if (names_at_lines_ || is_named_by_ours(i)) continue;
    entries.push_back(entry_of(i));
  }
  if (any_published) {
    entries.push_back({"ours", "s7", 0, LegendEntry::Kind::kLine});
    entries.push_back({"published", "s7", 0, LegendEntry::Kind::kHollowLine});
  }
  if (!hollow.empty()) entries.push_back({hollow, "s7", 0, LegendEntry::Kind::kHollowMarker});
  return entries;
}

std::vector<Stretch> LineChartDrawing::stretches(const Series& series) const {
  std::vector<Stretch> all(1);
  for (size_t i = 0; i < series.points.size(); ++i) {
    if (can_show(series.points[i])) {
      all.back().push_back(i);
    } else if (!all.back().empty()) {
      all.emplace_back();
    }
  }
  if (all.back().empty()) all.pop_back();
  for (Stretch& stretch : all) {
    std::vector<double> x, y;
    for (const size_t i : stretch) {
      x.push_back(pixel(series.points[i]).x);
      y.push_back(pixel(series.points[i]).y);
    }
    Stretch kept;
    for (const size_t i : thin_line(x, y, kDrawnPoints)) kept.push_back(stretch[i]);
    stretch = std::move(kept);
  }
  return all;
}

std::string LineChartDrawing::tip(const Series& series, const ChartPoint& point) const {
  const auto or_letter = [](const std::string& label, const char* letter) {
    return label.empty() ? std::string(letter) : label;
  };
  std::string text = fmt::format("{}\n{}: {}\n{}: {}", legend_name(series),
                                 or_letter(x_axis_.label, "x"), significant_text(point.x, 6),
                                 or_letter(y_axis_.label, "y"), significant_text(point.y, 6));
  if (std::isfinite(point.spread)) text += " ± " + significant_text(point.spread, 3);
  return text;
}

void LineChartDrawing::draw_spread(const Series& series, const Stretch& stretch,
                                   const std::string& colour) {
  const Box& plot = frame_.plot();
  const auto edge = [&](const ChartPoint& point, double sign) {
    const double spread = std::isfinite(point.spread) ? std::abs(point.spread) : 0;
    const double value = sign > 0 ? point.y + spread : lower_end(point.y, spread, y_axis_.scale);
    return y_.can_show(value) ? y_.pixel(value) : plot.bottom;
  };
  std::string upper, lower;
  bool any = false;
  for (size_t i = 0; i < stretch.size(); ++i) {
    const ChartPoint& high = series.points[stretch[i]];
    const ChartPoint& low = series.points[stretch[stretch.size() - 1 - i]];
    any = any || std::isfinite(high.spread);
    upper += path_point(i == 0 ? 'M' : 'L', x_.pixel(high.x), edge(high, 1));
    lower += path_point('L', x_.pixel(low.x), edge(low, -1));
  }
  if (!any) return;
  if (stretch.size() > 1 && series.style == SeriesStyle::kLine) {
    svg_.path(upper + lower + "Z", colour + " band");
    return;
  }
  for (const size_t i : stretch) {
    const ChartPoint& point = series.points[i];
    const double x = x_.pixel(point.x);
    svg_.path(path_point('M', x, edge(point, 1)) + path_point('L', x, edge(point, -1)),
              colour + " whisker");
  }
}

// Where a line has too many points to mark each, a few are marked, not the same ones on every line,
// so that lines can be told apart without their colours.
void LineChartDrawing::draw_markers(const Series& series, const std::vector<Stretch>& stretches,
                                    const std::string& colour, int shape) {
  size_t shown = 0;
  for (const Stretch& stretch : stretches) shown += stretch.size();
  const bool hollow = stands_beside(series);
  const bool some_visible = has_markers(series);
  const size_t marked = 3 * shape % kHoverPerMarker;
  for (const Stretch& stretch : stretches) {
    const bool all_visible = hollow || shown <= kVisibleMarkers || stretch.size() == 1 ||
                             series.style == SeriesStyle::kPoints;
    const size_t stride = all_visible ? 1 : (stretch.size() + kHoverPoints - 1) / kHoverPoints;
    for (size_t i = 0; i < stretch.size(); i += stride) {
      const ChartPoint& point = series.points[stretch[i]];
      const Pixel at = pixel(point);
      const bool visible = all_visible || (some_visible && i / stride % kHoverPerMarker == marked);
      if (hollow)
        svg_.hollow_marker(at.x, at.y, shape, colour, tip(series, point));
      else
        svg_.marker(at.x, at.y, shape, colour + (visible ? " fill" : " hover"), tip(series, point));
    }
  }
}

// A name that would touch another one stands below it.
void LineChartDrawing::draw_marks() {
  const Box& plot = frame_.plot();
  std::vector<double> free_from(kMarkRows, plot.left);  // of each row of names
  for (const ChartMark& mark : chart_.marks()) {
    const double x = x_.can_show(mark.x) ? x_.pixel(mark.x) : -1;
    if (x < plot.left || x > plot.right) continue;
    svg_.line(x, plot.top, x, plot.bottom, "reference");
    const double end = x + 4 + text_width(mark.name);
    const auto row =
        std::find_if(free_from.begin(), free_from.end(), [x](double free) { return free <= x; });
    if (row == free_from.end() || end > plot.right) continue;
    svg_.text(x + 4, plot.top + 12 + kMarkNameHeight * (row - free_from.begin()), mark.name,
              "muted");
    *row = end + 4;
  }
}

void LineChartDrawing::draw_series(size_t index) {
  const Series& series = chart_.series()[index];
  const std::string colour = colour_class(colours_[index]);
  const std::vector<Stretch> parts = stretches(series);
  for (const Stretch& part : parts) {
    draw_spread(series, part, colour);
    if (series.style == SeriesStyle::kPoints || series.style == SeriesStyle::kHollow) continue;
    std::string path;
    for (size_t i = 0; i < part.size(); ++i) {
      const Pixel at = pixel(series.points[part[i]]);
      path += path_point(i == 0 ? 'M' : 'L', at.x, at.y);
    }
    svg_.path(path, series.style == SeriesStyle::kReference   ? reference_classes(index)
                    : series.style == SeriesStyle::kPublished ? colour + " published"
                    : part.size() > kVisibleMarkers           ? colour + " line dense"
                                                              : colour + " line");
  }
  if (series.style != SeriesStyle::kReference)
    draw_markers(series, parts, colour, std::max(colours_[index], 0));
  if (parts.empty() || is_named_by_ours(index)) return;
  const Pixel end = pixel(series.points[parts.back().back()]);
  end_names_.push_back({entry_of(index), end.x, end.y});
}

std::string LineChartDrawing::description(size_t shown) const {
  std::string text = fmt::format("Line chart of {} points", shown);
  if (!x_axis_.label.empty() && !y_axis_.label.empty())
    text += fmt::format(", {} against {}", y_axis_.label, x_axis_.label);
  text += ".";
  for (const Series& series : chart_.series()) {
    if (series.points.empty() || series.style == SeriesStyle::kReference) continue;
    const auto& [first, last] = std::pair(series.points.front(), series.points.back());
    text += fmt::format(" {}: from {} at {} to {} at {}.", legend_name(series),
                        significant_text(first.y, 3), significant_text(first.x, 3),
                        significant_text(last.y, 3), significant_text(last.x, 3));
  }
  return text;
}

Drawing LineChartDrawing::draw() {
  const double height = frame_.is_narrow() ? 220 : 320;
  const Ticks y_ticks = y_.ticks(frame_.is_narrow() ? 5 : 6);
  frame_.draw_head(chart_.title(), legend(), y_.label(y_ticks));
  frame_.place_plot(label_room(y_ticks), names_at_lines_ ? end_name_room(names()) : 8, height);
  const Box& plot = frame_.plot();
  x_.set_pixels(plot.left, plot.right);
  y_.set_pixels(plot.bottom, plot.top);
  const Ticks x_ticks = x_.ticks(frame_.is_narrow() ? 4 : 7);
  frame_.draw_y_axis(y_, y_ticks);
  frame_.draw_x_axis(x_, x_ticks);

  size_t shown = 0, left_out = 0;
  for (const Series& series : chart_.series()) {
    for (const ChartPoint& point : series.points) ++(can_show(point) ? shown : left_out);
  }
  draw_marks();
  // Eight pixels of grace keep the markers at the edges whole.
  svg_.open_clip(plot.left - 8, plot.top - 8, plot.width() + 16, plot.height() + 16);
  // Hollow markers are larger and come first: where ours lies on a published one, both are seen.
  for (const auto style : {SeriesStyle::kReference, SeriesStyle::kPublished, SeriesStyle::kHollow,
                           SeriesStyle::kLine, SeriesStyle::kPoints}) {
    for (size_t i = 0; i < chart_.series().size(); ++i) {
      if (chart_.series()[i].style == style) draw_series(i);
    }
  }
  svg_.close_clip();
  if (names_at_lines_) draw_end_names(end_names_, plot, svg_);
  if (shown == 0) frame_.draw_empty_note();
  if (left_out > 0) {
    const bool log = x_.scale() == Scale::kLog || y_.scale() == Scale::kLog;
    frame_.draw_notes(
        {fmt::format("{} {} not shown: not finite{}.", left_out, left_out == 1 ? "point" : "points",
                     log ? ", or not positive on a log axis" : "")});
  }
  return frame_.finish(chart_.title(), description(shown));
}

}  // namespace

Drawing LineChart::draw(ChartWidth width) const {
  return LineChartDrawing(*this, x_, y_, width).draw();
}

}  // namespace tessera
