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
      : points_(points), count_(points.size() - 1), shortest_((size_t{1} << count_) * count_) {
    for (size_t set = 0; set < size_t{1} << count_; ++set)
      for (size_t last = 0; last < count_; ++last)
        if (!(set >> last & 1))
          shortest_[(set | size_t{1} << last) * count_ + last] = best_way(set, last + 1).first;
  }

  /// In either direction.
  std::vector<int64_t> tour() const {
    std::vector<int64_t> tour = {0};
    for (size_t set = (size_t{1} << count_) - 1; set != 0;) {
      const size_t last = best_way(set, tour.back()).second;
      tour.push_back(last + 1);
      set &= ~(size_t{1} << last);
    }
    return tour;
  }

 private:
  /// The shortest way from point 0 through all of `set` to another point: its length, and the
  /// member of the set before that point.
  std::pair<double, size_t> best_way(size_t set, size_t point) const {
    if (set == 0) return {distance(points_[0], points_[point]), 0};
    std::pair<double, size_t> best = {std::numeric_limits<double>::infinity(), 0};
    for (size_t last = 0; last < count_; ++last) {
      if (!(set >> last & 1)) continue;
      const double way = shortest_[set * count_ + last];
      const double length = way + distance(points_[last + 1], points_[point]);
      if (length < best.first) best = {length, last};
    }
    return best;
  }

  std::span<const Point> points_;
  size_t count_;
  /// [sets, N-1]: length of the shortest way from point 0 through a set that ends in a member.
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
