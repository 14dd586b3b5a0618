#include "tessera/report/chart.h"

#include <algorithm>
#include <cmath>

#include "tessera/report/text.h"

namespace tessera {
namespace {

constexpr double kEdge = 16;
constexpr double kLineHeight = 16;
constexpr double kTitleFont = 17;  // 15 pixels, but bold and therefore wider

bool is_power_of_ten(const Tick& tick) {
  const double exponent = std::log10(tick.value);
  return std::abs(exponent - std::round(exponent)) < 1e-9;
}

}  // namespace

double label_room(const Ticks& ticks) {
  double room = 0;
  for (const Tick& tick : ticks.ticks) room = std::max(room, text_width(tick.label));
  return room + 10;
}

void draw_sample(SvgWriter& svg, const LegendEntry& entry, double x, double y, double width) {
  using Kind = LegendEntry::Kind;
  const double middle = x + width / 2;
  const std::string line = path_point('M', x, y) + path_point('L', x + width, y);
  const Kind kind = entry.kind;
  if (kind == Kind::kBar) svg.rect(middle - 6, y - 6, 12, 12, entry.classes + " bar");
  if (kind == Kind::kReference) svg.path(line, entry.classes);
  if (kind == Kind::kLine || kind == Kind::kPlainLine) svg.path(line, entry.classes + " line");
  if (kind == Kind::kHollowLine) svg.path(line, entry.classes + " published");
  if (kind == Kind::kLine || kind == Kind::kMarker)
    svg.marker(middle, y, entry.shape, entry.classes + " fill");
  if (kind == Kind::kHollowLine || kind == Kind::kHollowMarker)
    svg.hollow_marker(middle, y, entry.shape, entry.classes);
}

ChartFrame::ChartFrame(SvgWriter& svg, ChartWidth width)
    : svg_(svg), width_(width == ChartWidth::kWide ? 720 : 360) {}

void ChartFrame::draw_head(const std::string& title, const std::vector<LegendEntry>& legend,
                           const std::string& y_label) {
  cursor_ = 12;
  for (const std::string& line : wrap_text(title, width_ - 2 * kEdge, kTitleFont)) {
    svg_.text(kEdge, cursor_ + 15, line, "title");
    cursor_ += 20;
  }
  if (!legend.empty()) draw_legend(legend);
  for (const std::string& line : wrap_text(y_label, width_ - 2 * kEdge)) {
    svg_.text(kEdge, cursor_ + 16, line, "muted");
    cursor_ += kLineHeight;
  }
  cursor_ += y_label.empty() ? 10 : 14;
}

void ChartFrame::draw_legend(const std::vector<LegendEntry>& legend) {
  double x = kEdge;
  double y = cursor_ + 14;
  for (const LegendEntry& entry : legend) {
    const std::string name = shorten_text(entry.name, width_ - 2 * kEdge - 24);
    const double needed = 24 + text_width(name);
    if (x > kEdge && x + needed > width_ - kEdge) {
      x = kEdge;
      y += 19;
    }
    draw_sample(svg_, entry, x, y, 18);
    svg_.text(x + 24, y + 4, name, "ink");
    x += needed + 16;
  }
  cursor_ = y + 10;
}

void ChartFrame::place_plot(double left_margin, double right_margin, double height) {
  plot_ = {kEdge + left_margin, cursor_, width_ - kEdge - right_margin, cursor_ + height};
  cursor_ += height;
}

std::vector<Box> ChartFrame::place_tiles(size_t count, double aspect) {
  constexpr double kGap = 8, kNameRoom = 20;
  const size_t in_row = is_narrow() ? 2 : 4, rows = (count + in_row - 1) / in_row;
  const double side = (width_ - 2 * kEdge + kGap) / in_row - kGap;
  const double row_height = side * aspect + kNameRoom + kGap;
  place_plot(0, 0, row_height * rows);
  std::vector<Box> tiles;
  for (size_t i = 0; i < count; ++i) {
    const double left = plot_.left + (i % in_row) * (side + kGap);
    const double top = plot_.top + (i / in_row) * row_height;
    tiles.push_back({left, top, left + side, top + side * aspect});
  }
  return tiles;
}

void ChartFrame::draw_tile_name(const Box& tile, const std::string& name) {
  svg_.text(tile.left, tile.bottom + 14, shorten_text(name, tile.width()), "muted");
}

void ChartFrame::draw_y_axis(const AxisMap& y, const Ticks& ticks) {
  for (const Tick& tick : ticks.ticks) {
    const double pixel = y.pixel(tick.value);
    if (tick.label.empty()) continue;
    svg_.line(plot_.left, pixel, plot_.right, pixel, "grid");
    svg_.text(plot_.left - 8, pixel + 4, tick.label, "muted", Anchor::kEnd);
  }
}

void ChartFrame::draw_x_axis(const AxisMap& x, const Ticks& ticks) {
  svg_.line(plot_.left, plot_.bottom, plot_.right, plot_.bottom, "axis");
  std::vector<Tick> labelled;
  for (const Tick& tick : ticks.ticks) {
    const double pixel = x.pixel(tick.value);
    svg_.line(pixel, plot_.bottom, pixel, plot_.bottom + (tick.label.empty() ? 3 : 5), "axis");
    if (!tick.label.empty()) labelled.push_back(tick);
  }
  // Where not all labels have room, those of powers come first.
  if (x.scale() == Scale::kLog)
    std::stable_partition(labelled.begin(), labelled.end(), is_power_of_ten);
  std::vector<std::pair<double, double>> taken;  // left and right ends of labels
  for (const Tick& tick : labelled) {
    const double pixel = x.pixel(tick.value), half = text_width(tick.label) / 2 + 3;
    const bool touches = std::ranges::any_of(taken, [&](const auto& label) {
      return pixel - half < label.second && pixel + half > label.first;
    });
    if (touches) continue;
    svg_.text(pixel, plot_.bottom + 19, tick.label, "muted", Anchor::kMiddle);
    taken.emplace_back(pixel - half, pixel + half);
  }
  draw_x_label(x.label(ticks));
}

void ChartFrame::draw_x_names(const std::vector<std::string>& names, const std::string& label) {
  const double step = plot_.width() / std::max<size_t>(names.size(), 1);
  const double widest = widest_text(names);
  const double allowed = std::max(step - 4, std::min(widest, 90.0));
  const double needed = std::min(widest, allowed) + 8;
  const auto stride = std::max<size_t>(1, static_cast<size_t>(std::ceil(needed / step)));
  for (size_t i = 0; i < names.size(); i += stride) {
    svg_.text(plot_.left + (i + 0.5) * step, plot_.bottom + 18, shorten_text(names[i], allowed),
              "muted", Anchor::kMiddle);
  }
  draw_x_label(label);
}

void ChartFrame::draw_x_label(const std::string& label) {
  cursor_ = plot_.bottom + 24;
  const double middle = (plot_.left + plot_.right) / 2;
  const double room = 2 * std::min(middle, width_ - middle) - kEdge;
  for (const std::string& line : wrap_text(label, room)) {
    svg_.text(middle, cursor_ + 16, line, "muted", Anchor::kMiddle);
    cursor_ += kLineHeight;
  }
  if (!label.empty()) cursor_ += 6;
}

void ChartFrame::draw_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    for (const std::string& line : wrap_text(note, width_ - 2 * kEdge)) {
      svg_.text(kEdge, cursor_ + 18, line, "muted");
      cursor_ += 17;
    }
  }
}

void ChartFrame::draw_empty_note() {
  svg_.text((plot_.left + plot_.right) / 2, (plot_.top + plot_.bottom) / 2, "No points to show",
            "muted", Anchor::kMiddle);
}

Drawing ChartFrame::finish(const std::string& title, const std::string& description) {
  return {width_, cursor_ + 14, title, description, svg_.take_body()};
}

}  // namespace tessera
