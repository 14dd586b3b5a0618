#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/task/geometry/points.h"

namespace tessera::task {

/// Corners of the convex hull, counter-clockwise, beginning with the corner of the lowest place, as
/// in the published test sets. Points inside an edge are no corners; of equal points the first
/// counts. Andrew 1979 (monotone chain). At least one point.
std::vector<int64_t> convex_hull(std::span<const Point> points);

}  // namespace tessera::task
