#pragma once

#include <string>
#include <vector>

#include "tessera/report/chart.h"

namespace tessera {

/// What stands beside the right end of a line.
struct EndName {
  LegendEntry entry;
  double x = 0, y = 0;  ///< the line's end, pixels
};

/// Pixels that names at the ends of lines need at the right of a plot.
double end_name_room(const std::vector<std::string>& names);

/// Writes the names at the right of the plot, level with the ends of their lines, pushed apart
/// where they would touch. A dotted line leads from an end to a name that stands elsewhere.
void draw_end_names(std::vector<EndName> names, const Box& plot, SvgWriter& svg);

}  // namespace tessera
