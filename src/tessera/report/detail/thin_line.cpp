#include "tessera/report/detail/thin_line.h"

#include <cmath>

#include "tessera/base/consecutive.h"

namespace tessera {

std::vector<size_t> thin_line(const std::vector<double>& x, const std::vector<double>& y,
                              size_t limit) {
  const size_t count = x.size();
  if (count <= limit || limit < 3) return consecutive<size_t>(count);
  std::vector<size_t> kept{0};
  const size_t buckets = limit - 2;
  const auto bucket_start = [&](size_t b) { return 1 + b * (count - 2) / buckets; };
  for (size_t b = 0; b < buckets; ++b) {
    const size_t next_start = bucket_start(b + 1);
    const size_t next_end = b + 1 < buckets ? bucket_start(b + 2) : count;
    double mean_x = 0, mean_y = 0;
    for (size_t i = next_start; i < next_end; ++i) {
      mean_x += x[i] / (next_end - next_start);
      mean_y += y[i] / (next_end - next_start);
    }
    const size_t last = kept.back();
    size_t best = bucket_start(b);
    double best_area = -1;
    for (size_t i = bucket_start(b); i < next_start; ++i) {
      const double area =
          std::abs((x[last] - mean_x) * (y[i] - y[last]) - (x[last] - x[i]) * (mean_y - y[last]));
      if (area > best_area) {
        best_area = area;
        best = i;
      }
    }
    kept.push_back(best);
  }
  kept.push_back(count - 1);
  return kept;
}

}  // namespace tessera
