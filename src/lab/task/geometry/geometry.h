#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::task {

struct Point {
  double x, y;
};

double distance(const Point& a, const Point& b);

/// Corners of the convex hull, counter-clockwise, beginning with the corner of the lowest place, as
/// in the published test sets. Points inside an edge are no corners; of equal points the first
/// counts. Andrew 1979 (monotone chain). At least one point.
std::vector<int64_t> convex_hull(std::span<const Point> points);

/// Length of the closed tour that visits the points in this order.
double tour_length(std::span<const Point> points, std::span<const int64_t> order);

/// Most points of shortest_tour: its table has N · 2^N entries.
inline constexpr int64_t kMostTourPoints = 16;

/// A shortest closed tour through all points, which begins at point 0: exact, by Held & Karp 1962.
/// Of its two directions the one whose second point has the lower place.
/// Throws UsageError on no points or more than kMostTourPoints.
std::vector<int64_t> shortest_tour(std::span<const Point> points);

}  // namespace tessera::task
