#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace tessera::theory {

/// Mean and its standard error (0 of a single value).
std::pair<double, double> mean_error(const std::vector<double>& errors);

/// The smallest multiple of `step` at which error(dimension), a mean and its standard error that
/// fall with the dimension, is at most `error_wanted`, both added; 0 where even 10^6 dimensions do
/// not do. Throws std::invalid_argument on a step below 1.
int64_t smallest_dimension(const std::function<std::pair<double, double>(int64_t dimension)>& error,
                           double error_wanted, int64_t step);

}  // namespace tessera::theory
