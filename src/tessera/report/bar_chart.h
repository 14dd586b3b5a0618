#pragma once

#include <string>
#include <vector>

#include "tessera/report/chart.h"

namespace tessera {

/// Groups of upright bars from zero: one group per name below the axis (a head, a task), one bar
/// per series in each. Values that are not finite get no bar.
class BarChart : public Chart {
 public:
  BarChart(std::string title, std::vector<std::string> groups, std::string x_label,
           std::string y_label);

  /// One value per group; spreads, where given, likewise: half the height of the error whiskers.
  /// Throws UsageError on a length that is not the number of groups.
  void add(std::string name, std::vector<double> values, std::vector<double> spreads = {});

  Drawing draw(ChartWidth width) const override;
  /// Columns: series, the x axis' label, the y axis' label, spread.
  Table numbers() const override;

 private:
  struct Bars {
    std::string name;
    std::vector<double> values;
    std::vector<double> spreads;
  };
  void draw_bars(SvgWriter& svg, const Box& plot, const AxisMap& y, size_t index) const;

  std::vector<std::string> groups_;
  std::string x_label_;
  std::string y_label_;
  std::vector<Bars> bars_;
};

}  // namespace tessera
