#include "lab/task/geometry/geometry.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
  const auto at = [&](int64_t place) { return points[place]; };
  const size_t begin = hull.size();
  for (int64_t place : order) {
    while (hull.size() >= begin + 2 &&
           turn(at(hull[hull.size() - 2]), at(hull.back()), at(place)) <= 0)
      hull.pop_back();
    hull.push_back(place);
  }
  hull.pop_back();
}

/// The table of Held & Karp over the points 1 … N-1; sets of them are bit masks, where bit i is
/// point i + 1.
class HeldKarp {
 public:
  explicit HeldKarp(std::span<const Point> points)
      : points_(points),
        count_(points.size() - 1),
        shortest_((size_t{1} << count_) * count_, std::numeric_limits<double>::infinity()) {
    for (size_t last = 0; last < count_; ++last)
      at(size_t{1} << last, last) = distance(points_[0], points_[last + 1]);
    for (size_t set = 1; set < size_t{1} << count_; ++set)
      for (size_t last = 0; last < count_; ++last)
        if (set >> last & 1) extend(set, last);
  }

  /// In either direction.
  std::vector<int64_t> tour() const {
    std::vector<int64_t> tour = {0};
    for (size_t set = (size_t{1} << count_) - 1; set != 0;) {
      const size_t last = best_last(set, tour.back());
      tour.push_back(static_cast<int64_t>(last) + 1);
      set &= ~(size_t{1} << last);
    }
    return tour;
  }

 private:
  /// Length of the shortest way from point 0 through all of `set` that ends in its member `last`.
  double& at(size_t set, size_t last) { return shortest_[set * count_ + last]; }
  double at(size_t set, size_t last) const { return shortest_[set * count_ + last]; }

  void extend(size_t set, size_t last) {
    for (size_t next = 0; next < count_; ++next) {
      if (set >> next & 1) continue;
      double& longer = at(set | size_t{1} << next, next);
      longer = std::min(longer, at(set, last) + distance(points_[last + 1], points_[next + 1]));
    }
  }

  size_t best_last(size_t set, size_t next_point) const {
    size_t best = 0;
    double best_length = std::numeric_limits<double>::infinity();
    for (size_t last = 0; last < count_; ++last) {
      if (!(set >> last & 1)) continue;
      const double length = at(set, last) + distance(points_[last + 1], points_[next_point]);
      if (length < best_length) {
        best_length = length;
        best = last;
      }
    }
    return best;
  }

  std::span<const Point> points_;
  size_t count_;
  std::vector<double> shortest_;
};

}  // namespace

double distance(const Point& a, const Point& b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

std::vector<int64_t> convex_hull(std::span<const Point> points) {
  check_argument(!points.empty(), "convex_hull: no points");
  const auto key = [&](int64_t place) {
    const Point& point = points[place];
    return std::pair(point.x, point.y);
  };
  std::vector<int64_t> order = consecutive<int64_t>(points.size());
  std::ranges::stable_sort(order, {}, key);
  const auto repeated = std::ranges::unique(order, {}, key);
  order.erase(repeated.begin(), repeated.end());
  if (order.size() == 1) return order;

  std::vector<int64_t> hull;
  append_chain(points, order, hull);
  std::reverse(order.begin(), order.end());
  append_chain(points, order, hull);
  std::rotate(hull.begin(), std::min_element(hull.begin(), hull.end()), hull.end());
  return hull;
}

double tour_length(std::span<const Point> points, std::span<const int64_t> order) {
  double length = 0;
  for (size_t i = 0; i < order.size(); ++i)
    length += distance(points[order[i]], points[order[(i + 1) % order.size()]]);
  return length;
}

std::vector<int64_t> shortest_tour(std::span<const Point> points) {
  check_argument(!points.empty() && std::ssize(points) <= kMostTourPoints,
                 "shortest_tour: {} points, expected 1 to {}", points.size(), kMostTourPoints);
  if (points.size() == 1) return {0};
  std::vector<int64_t> tour = HeldKarp(points).tour();
  if (tour.size() > 2 && tour.back() < tour[1]) std::reverse(tour.begin() + 1, tour.end());
  return tour;
}

}  // namespace tessera::task
