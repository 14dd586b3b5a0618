#pragma once

#include <cstdint>

namespace tessera::theory {

/// A correlation memory C [K, d] = sum of k^T v over n pairs, read for the best of V tokens: the
/// scores are (k C) E^T (Zanzotto et al. 2025, eq. 4). What matters of its codes to the noise.
struct CorrelationCode {
  int64_t rows = 0;           ///< K, width of a key
  int64_t columns = 0;        ///< d, width of a value
  int64_t vocabulary = 0;     ///< V
  int32_t layers = 1;         ///< keys added up in one read, each stored with the right token
  double key_variance = 1;    ///< c_W: K times the variance of the product of two keys
  bool lengths_vary = false;  ///< Gaussian keys and values: |k|^2 and |v|^2 vary by 2/K and 2/d
  bool values_bound = false;  ///< to their windows, so that equal tokens do not add up
};

/// c_W of keys that join h slots projected through one Gaussian W_V: 1 + 1/h, since W_V leaves the
/// products of all slots with the same error. Orthonormal rows of W_V have 1, as independent keys.
double shared_gaussian_key_variance(int32_t heads);

/// Standard deviation of a read's score for a token that was not stored with it; the right token
/// has `layers`. energy: the sum of squared multiplicities of all pairs held, in all layers, that
/// is their number where none is held twice.
double correlation_noise(const CorrelationCode& code, double energy);

/// Chance that the right token has the best score of V, where the tokens stored are uniform:
/// integral of phi(g) Phi((s + g sigma') / sigma)^(V-1) with signal s = layers.
/// Throws UsageError unless the sizes are positive and energy >= 0; so do the others.
double correlation_recall(const CorrelationCode& code, double energy);

/// The largest energy read with at least this recall; in tokens it is layers times less.
/// Throws UsageError unless recall lies between 1/V and 1.
double correlation_capacity(const CorrelationCode& code, double recall);

}  // namespace tessera::theory
