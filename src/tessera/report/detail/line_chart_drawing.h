#pragma once

#include "tessera/report/line_chart.h"

namespace tessera {

/// What LineChart::draw() gives.
Drawing draw_line_chart(const LineChart& chart, const Axis& x, const Axis& y, ChartWidth width);

}  // namespace tessera
