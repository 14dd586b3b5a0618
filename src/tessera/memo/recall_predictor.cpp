#include "tessera/memo/recall_predictor.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"

namespace tessera::memo {
namespace {

constexpr int64_t kWidest = 1000000;
constexpr int64_t kDimensionStep = 64;  // dimensions of a text memory are multiples of it

}  // namespace

std::pair<double, double> mean_error(const std::vector<double>& errors) {
  double mean = 0, squares = 0;
  const auto count = static_cast<double>(errors.size());
  for (const double error : errors) mean += error / count;
  for (const double error : errors) squares += (error - mean) * (error - mean);
  return {mean, count > 1 ? std::sqrt(squares / (count - 1) / count) : 0.0};
}

int64_t RecallPredictor::smallest_dimension(double error_allowed, int64_t step) const {
  check_argument(step >= 1, "smallest_dimension: dimensions in steps of {}, expected at least 1",
                 step);
  const auto reached = [&](int64_t steps) {
    const auto [mean, standard_error] = error(std::max<int64_t>(2, steps * step));
    return mean + standard_error <= error_allowed;
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

SizePlan RecallPredictor::plan_for(double error_allowed) const {
  const int64_t dimension = smallest_dimension(error_allowed, kDimensionStep);
  if (dimension > 0) return plan_in(dimension);
  return {.associations = associations(), .error_in_any_dimension = floor(), .probes = probes()};
}

SizePlan RecallPredictor::plan_in(int64_t dimension) const {
  const auto [mean, standard_error] = error(dimension);
  return {.associations = associations(),
          .dimension = dimension,
          .error = mean,
          .standard_error = standard_error,
          .error_in_any_dimension = floor(),
          .probes = probes()};
}

}  // namespace tessera::memo
