#include "tessera/plan/statistics.h"

#include <cmath>

#include "tessera/base/error.h"

namespace tessera::theory {

double Spread::standard_error() const {
  return runs > 0 ? deviation / std::sqrt(static_cast<double>(runs)) : 0.0;
}

Spread spread_of(std::span<const double> values) {
  Spread spread{.runs = static_cast<int64_t>(values.size())};
  const auto n = static_cast<double>(values.size());
  for (const double value : values) spread.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  if (values.size() > 1) spread.deviation = std::sqrt(squares / (n - 1));
  return spread;
}

double log_log_slope(std::span<const double> x, std::span<const double> y) {
  check_argument(x.size() == y.size() && x.size() >= 2,
                 "log_log_slope: {} abscissae and {} ordinates; two or more pairs are needed",
                 x.size(), y.size());
  double mean_x = 0, mean_y = 0, products = 0, squares = 0;
  const auto n = static_cast<double>(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    check_argument(x[i] > 0 && y[i] > 0, "log_log_slope: point ({}, {}) has no logarithm", x[i],
                   y[i]);
    mean_x += std::log(x[i]) / n;
    mean_y += std::log(y[i]) / n;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    products += (std::log(x[i]) - mean_x) * (std::log(y[i]) - mean_y);
    squares += (std::log(x[i]) - mean_x) * (std::log(x[i]) - mean_x);
  }
  check_argument(squares > 0, "log_log_slope: all {} abscissae are equal", x.size());
  return products / squares;
}

}  // namespace tessera::theory
