#pragma once

#include <string>
#include <vector>

#include "tessera/report/axis.h"
#include "tessera/report/svg.h"
#include "tessera/report/table.h"

namespace tessera {

/// A chart for a page or file (720 pixels) or for a telephone's screen (360).
enum class ChartWidth { kWide, kNarrow };

/// Something that draws numbers and can also list them.
class Chart {
 public:
  explicit Chart(std::string title) : title_(std::move(title)) {}
  virtual ~Chart() = default;

  const std::string& title() const { return title_; }
  virtual Drawing draw(ChartWidth width) const = 0;
  /// Every number of the chart, exact, also those the drawing leaves out.
  virtual Table numbers() const = 0;
  /// The wide drawing as a file of its own.
  std::string svg() const { return standalone_svg(draw(ChartWidth::kWide)); }

 private:
  std::string title_;
};

/// A rectangle in pixels.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

/// The name of a series in a legend, and how the series is drawn.
struct LegendEntry {
  enum class Kind { kLine, kPlainLine, kMarker, kHollowLine, kHollowMarker, kBar, kReference };
  std::string name;
  std::string classes;
  int shape = 0;
  Kind kind = Kind::kLine;
};

/// A short piece of what the entry names, from x to the right.
void draw_sample(SvgWriter& svg, const LegendEntry& entry, double x, double y, double width);

/// What charts with axes share: title and legend on top, notes below, axes and grid lines between.
class ChartFrame {
 public:
  ChartFrame(SvgWriter& svg, ChartWidth width);

  double width() const { return width_; }
  bool is_narrow() const { return width_ < 500; }
  /// Title, legend and the y axis' label from the top downwards.
  void draw_head(const std::string& title, const std::vector<LegendEntry>& legend,
                 const std::string& y_label);
  /// Sets the plot below the head, with this much room at both sides.
  void place_plot(double left_margin, double right_margin, double height);
  const Box& plot() const { return plot_; }
  /// Places for `count` equal tiles below the head, four in a row (two on a telephone), each
  /// `aspect` times as high as wide, with room for a line of text below. The plot is all of them.
  std::vector<Box> place_tiles(size_t count, double aspect);
  void draw_tile_name(const Box& tile, const std::string& name);

  void draw_y_axis(const AxisMap& y, const Ticks& ticks);
  void draw_x_axis(const AxisMap& x, const Ticks& ticks);
  /// The x axis of named places; names are thinned where they would touch.
  void draw_x_names(const std::vector<std::string>& names, const std::string& label);
  /// Lines of small text below the plot.
  void draw_notes(const std::vector<std::string>& notes);
  void draw_empty_note();
  /// The drawing down to the last thing drawn.
  Drawing finish(const std::string& title, const std::string& description);

 private:
  void draw_legend(const std::vector<LegendEntry>& legend);
  void draw_x_label(const std::string& label);

  SvgWriter& svg_;
  double width_;
  double cursor_ = 0;  // bottom of what has been drawn
  Box plot_;
};

/// Pixels that the labels of an upright axis need.
double label_room(const Ticks& ticks);

}  // namespace tessera
