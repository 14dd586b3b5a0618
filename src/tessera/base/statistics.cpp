#include "tessera/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "tessera/base/error.h"

namespace tessera {
namespace {

constexpr double kLowest = -36, kHighest = 9, kSteps = 128;

std::vector<double> make_log_table() {
  std::vector<double> table(static_cast<size_t>((kHighest - kLowest) * kSteps) + 2);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = std::log(normal_cdf(kLowest + static_cast<double>(i) / kSteps));
  return table;
}

}  // namespace

double Spread::standard_error() const {
  return runs > 0 ? deviation / std::sqrt(static_cast<double>(runs)) : 0.0;
}

Spread spread_of(std::span<const double> values) {
  Spread spread{.runs = std::ssize(values)};
  const double n = values.size();
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
  const double n = x.size();
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
  const auto [least, most] = std::ranges::minmax(x);
  check_argument(squares > 0 && std::log(least) < std::log(most),  // rounding may leave squares
                 "log_log_slope: all {} abscissae are equal", x.size());
  return products / squares;
}

double squared_length(double d, double g) {
  const double root = 1 - 2 / (9 * d) + std::sqrt(2 / (9 * d)) * g;
  return std::max(1e-6, root * root * root);
}

double normal_cdf(double t) {
  return 0.5 * std::erfc(-t / std::numbers::sqrt2);
}

double log_normal_cdf(double t) {
  static const std::vector<double> table = make_log_table();
  if (t >= kHighest) return 0;
  // The leading term of the tail, beyond where the density is a normal number; of NaN it is NaN.
  if (!(t > kLowest)) return -t * t / 2 - std::log(-t * std::sqrt(2 * std::numbers::pi));
  const double place = (t - kLowest) * kSteps;
  const auto i = static_cast<size_t>(place);
  return table[i] + (place - static_cast<double>(i)) * (table[i + 1] - table[i]);
}

}  // namespace tessera
