#pragma once

#include <cstdint>
#include <span>

namespace tessera::theory {

/// Mean and standard deviation (over n - 1) of independent runs.
struct Spread {
  double mean = 0;
  double deviation = 0;
  int64_t runs = 0;

  /// Standard deviation of the mean.
  double standard_error() const;
};

Spread spread_of(std::span<const double> values);

/// Least-squares slope of log y against log x: the exponent of a power law. At least two points,
/// all positive; else throws UsageError.
double log_log_slope(std::span<const double> x, std::span<const double> y);

}  // namespace tessera::theory
