#pragma once

#include <limits>
#include <string>
#include <vector>

#include "tessera/report/chart.h"

namespace tessera {

/// One point; spread is half the height of the error band around it (NaN: none).
struct ChartPoint {
  double x = 0;
  double y = 0;
  double spread = std::numeric_limits<double>::quiet_NaN();
};

enum class SeriesStyle {
  kLine,       ///< points joined by a line
  kPoints,     ///< points alone
  kHollow,     ///< hollow points alone, in the colour of the series of that name
  kPublished,  ///< numbers of a paper: hollow points, dotted; in the colour of the series of that
               ///< name
  kReference,  ///< a dashed line without points (a theory, a slope)
};

struct Series {
  std::string name;
  std::vector<ChartPoint> points;
  SeriesStyle style = SeriesStyle::kLine;
  std::string colour_of = {};  ///< the series whose colour a reference has; empty: grey
  std::string is = "hollow";   ///< what hollow points are, for the legend
};

/// Its name in legends and tables: with "(published)", or what hollow points are.
std::string legend_name(const Series& series);

/// A named place on the x axis.
struct ChartMark {
  double x = 0;
  std::string name;
};

/// Series over two axes. Lines carry their names at their right ends (above the plot on a narrow
/// drawing, where points stand alone and where names are long); a hollow or published series is
/// named by the one whose colour it has. Several lines differ in their markers, too. Points that
/// are not finite, or not positive on a log axis, are left out of the drawing, which says how many;
/// a line is broken there. Long lines are drawn through at most 300 points that keep their shape.
class LineChart : public Chart {
 public:
  LineChart(std::string title, Axis x, Axis y);

  void add(Series series);
  /// An upright dashed line at x, with its name at the top where there is room. It does not widen
  /// the axis: one outside the series' span is left out.
  void mark(double x, std::string name);
  const std::vector<ChartMark>& marks() const { return marks_; }
  const std::vector<Series>& series() const { return series_; }

  Drawing draw(ChartWidth width) const override;
  /// Columns: series, the x axis' label, the y axis' label, spread. Marks have no y.
  Table numbers() const override;

 private:
  Axis x_;
  Axis y_;
  std::vector<Series> series_;
  std::vector<ChartMark> marks_;
};

}  // namespace tessera
