#pragma once

namespace tessera::theory {

/// Phi(t), the standard normal distribution function.
double normal_cdf(double t);

/// log Phi(t) by a table in steps of 1/128: relative error below 1e-4, absolute below 1e-5 for
/// t > 0. Predictors call it millions of times.
double log_normal_cdf(double t);

/// The t with Phi(t) = probability (Newton's method on the tail). Throws UsageError
/// unless 0 < probability < 1.
double normal_quantile(double probability);

}  // namespace tessera::theory
