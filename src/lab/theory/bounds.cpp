#include "lab/theory/bounds.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"

namespace tessera::theory {
namespace {

void check_exponent(double alpha, const char* function) {
  check_argument(alpha > 1, "{}: alpha is {}; with infinitely many inputs it must exceed 1",
                 function, alpha);
}

void check_sizes(const AssociationTask& task, std::span<const float> weights, int64_t dimension,
                 const char* function) {
  check_argument(weights.size() == task.law.size(), "{}: {} weights for {} inputs", function,
                 weights.size(), task.law.size());
  check_argument(dimension >= 1, "{}: dimension {}; at least 1 is needed", function, dimension);
}

/// p({x : q(x)^2 <= limit}).
double mass_at_or_below(const AssociationTask& task, std::span<const float> weights, double limit) {
  double mass = 0;
  for (int64_t x = task.inputs() - 1; x >= 0; --x)
    if (double{weights[x]} * weights[x] <= limit) mass += task.law[x];
  return mass;
}

double largest_energy(const AssociationTask& task, std::span<const float> weights) {
  const auto energies = class_energies(task, weights);
  return *std::max_element(energies.begin(), energies.end());
}

}  // namespace

double unseen_mass_rate(double alpha, double samples) {
  check_exponent(alpha, "unseen_mass_rate");
  return std::pow(std::riemann_zeta(alpha), -1 / alpha) * std::tgamma(1 - 1 / alpha) / alpha *
         std::pow(samples, -1 + 1 / alpha);
}

double theorem1_upper_bound(const AssociationTask& task, std::span<const float> weights,
                            int64_t dimension) {
  check_sizes(task, weights, dimension, "theorem1_upper_bound");
  const double d = dimension;
  const double log_outputs = std::log(static_cast<double>(task.outputs));
  check_argument(task.outputs >= 4 && d > 8 * log_outputs,
                 "theorem1_upper_bound: M = {}, d = {}; Theorem 1 needs M >= 4 and d > 8 log M",
                 task.outputs, dimension);
  const auto energies = class_energies(task, weights);
  const double largest = *std::max_element(energies.begin(), energies.end());
  double total = 0, bound = 2;
  for (const double energy : energies) total += energy;
  for (double gamma = 0.02; gamma < 20; gamma *= 1.05) {
    const double c = log_outputs + gamma * std::log(d);
    const double limit = 16 * c * (largest + 8 * c * total / d) / d;
    bound = std::min(bound, 2 * std::pow(d, -gamma) + mass_at_or_below(task, weights, limit));
  }
  return bound;
}

double theorem1_lower_bound(const AssociationTask& task, std::span<const float> weights,
                            int64_t dimension) {
  check_sizes(task, weights, dimension, "theorem1_lower_bound");
  const double limit = largest_energy(task, weights) / (3 * (static_cast<double>(dimension) + 1));
  return mass_at_or_below(task, weights, limit) / 20;
}

double survival_error(const AssociationTask& task, std::span<const float> weights,
                      int64_t dimension) {
  check_sizes(task, weights, dimension, "survival_error");
  return mass_at_or_below(task, weights,
                          largest_energy(task, weights) / static_cast<double>(dimension));
}

double unthresholded_exponent(double alpha, double rho) {
  check_exponent(alpha, "unthresholded_exponent");
  check_argument(rho > 0, "unthresholded_exponent: rho is {}; it must be positive", rho);
  return (alpha - 1) / (2 * rho * alpha);
}

double unthresholded_load(double alpha, double rho, double inputs) {
  const double power = 2 * rho * alpha;
  if (power > 1) return 1;
  return power == 1 ? std::log(inputs) : std::pow(inputs, 1 - power);
}

double thresholded_exponent(double alpha, double rho) {
  check_exponent(alpha, "thresholded_exponent");
  check_argument(rho >= 0, "thresholded_exponent: rho is {}; it must not be negative", rho);
  return (alpha - 1) / std::max(1.0, 2 * rho * alpha);
}

double minimax_lower_bound(double alpha, int64_t dimension, double largest_share) {
  check_exponent(alpha, "minimax_lower_bound");
  check_argument(largest_share > 0 && largest_share <= 1,
                 "minimax_lower_bound: the largest class has share {} of the energy",
                 largest_share);
  const double constant = std::pow(largest_share, alpha - 1) / std::riemann_zeta(alpha) /
                          (20 * (alpha + 1) * std::pow(3, alpha - 1));
  return constant * std::pow(static_cast<double>(dimension) + 1, -(alpha - 1));
}

double finite_data_rate(double alpha, int64_t dimension, double samples) {
  check_exponent(alpha, "finite_data_rate");
  return std::pow(samples, -1 + 1 / alpha) + std::pow(static_cast<double>(dimension), -(alpha - 1));
}

}  // namespace tessera::theory
