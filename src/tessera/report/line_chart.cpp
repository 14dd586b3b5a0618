#include "tessera/report/line_chart.h"

#include <cmath>

namespace tessera {

std::string legend_name(const Series& series) {
  if (series.style == SeriesStyle::kPublished) return series.name + " (published)";
  if (series.style == SeriesStyle::kHollow) return series.name + " (hollow)";
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

}  // namespace tessera
