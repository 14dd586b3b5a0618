#include "lab/study/memo/kolmogorov_smirnov.h"

#include <algorithm>
#include <cmath>

namespace tessera::memo_study {

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const double value = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == value) ++i;
    while (j < b.size() && b[j] == value) ++j;
    largest = std::max(largest, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                         static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return largest;
}

double same_distribution(std::vector<double> a, std::vector<double> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  const double root = std::sqrt(n * m / (n + m));
  const double x = (root + 0.12 + 0.11 / root) * distance(a, b);
  if (x < 0.2) return 1;  // less than 1e-12 below it
  double sum = 0;
  for (int k = 1; k <= 100; ++k) sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * x * x);
  return std::clamp(sum, 0.0, 1.0);
}

}  // namespace tessera::memo_study
