#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::memo {

/// log 0.
constexpr double kLogZero = -std::numeric_limits<double>::infinity();

/// log(1 + e^x).
inline double log_one_plus_exp(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

/// log(e^a + e^b).
inline double log_add(double a, double b) {
  return a == kLogZero ? b : a + log_one_plus_exp(b - a);
}

}  // namespace tessera::memo
