#include "tessera/theory/dimension_search.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"

namespace tessera::theory {
namespace {

constexpr int64_t kWidest = 1000000;

}  // namespace

std::pair<double, double> mean_error(const std::vector<double>& errors) {
  double mean = 0, squares = 0;
  const auto count = static_cast<double>(errors.size());
  for (const double error : errors) mean += error / count;
  for (const double error : errors) squares += (error - mean) * (error - mean);
  return {mean, count > 1 ? std::sqrt(squares / (count - 1) / count) : 0.0};
}

int64_t smallest_dimension(const std::function<std::pair<double, double>(int64_t dimension)>& error,
                           double error_wanted, int64_t step) {
  check_argument(step >= 1, "smallest_dimension: dimensions in steps of {}", step);
  const auto reached = [&](int64_t steps) {
    const auto [mean, standard_error] = error(std::max<int64_t>(2, steps * step));
    return mean + standard_error <= error_wanted;
  };
  int64_t high = 1;
  while (!reached(high)) {
    high *= 2;
    if (high * step > kWidest) return 0;
  }
  int64_t low = high / 2;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (reached(middle) ? high : low) = middle;
  }
  return high * step;
}

}  // namespace tessera::theory
