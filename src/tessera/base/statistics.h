#pragma once

#include <cstdint>
#include <span>

namespace tessera {

/// Mean and standard deviation (over n - 1) of independent runs.
struct Spread {
  double mean = 0;
  double deviation = 0;
  int64_t runs = 0;

  /// Standard deviation of the mean.
  double standard_error() const;
  bool operator==(const Spread&) const = default;
};

Spread spread_of(std::span<const double> values);

/// Least-squares slope of log y against log x: the exponent of a power law. At least two points,
/// all positive, not all of one x; else throws UsageError.
double log_log_slope(std::span<const double> x, std::span<const double> y);

/// The squared length of a vector of d normal numbers of variance 1 / d, as far from its mean as a
/// standard normal number g from 0 (Wilson & Hilferty 1931); at least 1e-6.
double squared_length(double d, double g);

/// Phi(t), the standard normal distribution function.
double normal_cdf(double t);

/// log Phi(t) by a table in steps of 1/128: relative error below 1e-4, absolute below 1e-5 for
/// t > 0. Predictors call it millions of times.
double log_normal_cdf(double t);

}  // namespace tessera
