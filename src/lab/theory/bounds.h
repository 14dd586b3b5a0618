#pragma once

#include <cstdint>
#include <span>

#include "tessera/plan/association_task.h"

/// The statements of Cabannes et al. 2024, each as a function. Exponents are those of a power law
/// "error = constant * d^-exponent" up to logarithms.
namespace tessera::theory {

/// Proposition 1 with its constant, N infinite: C^(1/alpha) Gamma(1 - 1/alpha) / alpha
/// * T^(-1 + 1/alpha), C = 1 / zeta(alpha). Throws UsageError unless alpha > 1.
double unseen_mass_rate(double alpha, double samples);

/// Theorem 1, upper bound (7) on the expected error, for e Gaussian and u uniform on the sphere:
/// the least over gamma of 2 d^-gamma + p({d q^2 <= 16 c (Q_max + 8 c |q|^2 / d)}) with
/// c = log M + gamma log d. It is 1 or more, hence says nothing, for most dimensions one can build.
/// Holds for M >= 4 and d > 8 log M; throws UsageError elsewhere.
double theorem1_upper_bound(const AssociationTask& task, std::span<const float> weights,
                            int64_t dimension);

/// Theorem 1, lower bound (8): p({3 (d + 1) q^2 <= Q_max}) / 20.
double theorem1_lower_bound(const AssociationTask& task, std::span<const float> weights,
                            int64_t dimension);

/// Equation (9), the error up to logarithms: p({d q^2 <= Q_max}).
double survival_error(const AssociationTask& task, std::span<const float> weights,
                      int64_t dimension);

/// Proposition 2: the exponent of d without threshold, (alpha - 1) / (2 rho alpha); rho > 0.
double unthresholded_exponent(double alpha, double rho);

/// Proposition 2, phi(N): what divides d. 1 if 2 rho alpha > 1, log N if equal, else
/// N^(1 - 2 rho alpha).
double unthresholded_load(double alpha, double rho, double inputs);

/// Proposition 3: the exponent of d with the best threshold, (alpha - 1) / max(1, 2 rho alpha).
/// Differs from the paper for rho > 0, if (14) reads (alpha - 1) / (2 rho alpha + 1), which we
/// could not check: balancing the two terms of (9) gives the larger exponent, and so do
/// simulations.
double thresholded_exponent(double alpha, double rho);

/// Theorem 2: no choice of q errs less than c (d + 1)^-(alpha - 1), N infinite,
/// c = C p_*^(alpha - 1) / (20 (alpha + 1) 3^(alpha - 1)); p_* is the share of |q|^2 in the largest
/// class, 1 / M for balanced classes.
double minimax_lower_bound(double alpha, int64_t dimension, double largest_share);

/// Proposition 4, equation (15), without its constants: T^(-1 + 1/alpha) + d^-(alpha - 1).
double finite_data_rate(double alpha, int64_t dimension, double samples);

}  // namespace tessera::theory
