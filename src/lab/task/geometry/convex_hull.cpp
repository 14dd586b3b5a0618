#include "lab/task/geometry/convex_hull.h"

#include <algorithm>

#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"

namespace tessera::task {

namespace {

/// Twice the area of the triangle a, b, c; positive where a, b, c turn left.
double turn(const Point& a, const Point& b, const Point& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/// Appends the half of the hull that lies right of the way through `order`, less its last point.
void append_chain(std::span<const Point> points, std::span<const int64_t> order,
                  std::vector<int64_t>& hull) {
  const auto at = [&](int64_t place) { return points[static_cast<size_t>(place)]; };
  const size_t begin = hull.size();
  for (int64_t place : order) {
    while (hull.size() >= begin + 2 &&
           turn(at(hull[hull.size() - 2]), at(hull.back()), at(place)) <= 0)
      hull.pop_back();
    hull.push_back(place);
  }
  hull.pop_back();
}

}  // namespace

std::vector<int64_t> convex_hull(std::span<const Point> points) {
  check_argument(!points.empty(), "convex_hull: no points");
  const auto key = [&](int64_t place) {
    const Point& point = points[static_cast<size_t>(place)];
    return std::pair(point.x, point.y);
  };
  std::vector<int64_t> order = consecutive<int64_t>(points.size());
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return key(a) < key(b); });
  order.erase(std::unique(order.begin(), order.end(),
                          [&](int64_t a, int64_t b) { return key(a) == key(b); }),
              order.end());
  if (order.size() == 1) return order;

  std::vector<int64_t> hull;
  append_chain(points, order, hull);
  std::reverse(order.begin(), order.end());
  append_chain(points, order, hull);
  std::rotate(hull.begin(), std::min_element(hull.begin(), hull.end()), hull.end());
  return hull;
}

}  // namespace tessera::task
