#pragma once

#include <vector>

namespace tessera::memo_study {

/// Largest difference of the distribution functions of two samples, each ascending (Kolmogorov and
/// Smirnov).
double distance(const std::vector<double>& a, const std::vector<double>& b);

/// How probable a distance at least as large is for two samples of one distribution (the limit for
/// many values, with the correction of Stephens 1970). Neither may be empty.
double same_distribution(std::vector<double> a, std::vector<double> b);

}  // namespace tessera::memo_study
