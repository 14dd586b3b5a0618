#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tessera/report/chart.h"

namespace tessera {

/// A matrix as coloured cells, row 0 on top, from dark blue (small) to light yellow (large), even
/// in lightness. Values that are not finite, or not positive on a log colour scale, are empty
/// cells. Where there is room a cell shows its number; on a linear scale one below a thousandth of
/// the scale is 0. At most 64 x 64 cells are drawn: larger matrices show the means of blocks, and
/// say so.
class HeatMap : public Chart {
 public:
  /// The names of rows and columns say their numbers. colours: the label, scale and bounds of the
  /// colour scale; without bounds it spans the values.
  HeatMap(std::string title, std::vector<std::string> rows, std::vector<std::string> columns,
          Axis colours);

  /// What rows and columns are.
  void name_axes(std::string rows, std::string columns);
  /// Row-major, rows x columns. Throws UsageError on another size.
  void set_values(std::vector<double> values);
  /// Frames a cell. Throws UsageError outside the matrix.
  void mark(size_t row, size_t column);

  Drawing draw(ChartWidth width) const override;
  /// One line per row: its name, then its values.
  Table numbers() const override;

 private:
  struct Blocks;
  Blocks blocks() const;
  void draw_cells(SvgWriter& svg, const Box& plot, const AxisMap& colours,
                  const Blocks& blocks) const;
  void draw_key(SvgWriter& svg, const Box& plot, const AxisMap& colours) const;
  void draw_row_names(SvgWriter& svg, const Box& plot) const;

  std::vector<std::string> rows_;
  std::vector<std::string> columns_;
  Axis colours_;
  std::string row_label_;
  std::string column_label_;
  std::vector<double> values_;
  std::vector<std::pair<size_t, size_t>> marked_;
};

/// The colour scale of heat maps: share in [0, 1] -> red, green, blue in [0, 255]. Lightness rises
/// evenly from 0.27 to 0.93 in OKLab (Ottosson 2020), the hue turns from blue over green to yellow.
std::array<int, 3> heat_colour(double share);

}  // namespace tessera
