#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera::test {

/// Causal reads one after the other, in doubles: y_t is the mean of the v_i with i <= t - lag, each
/// weighed by exp(scale q_t . k_i - slope_h (t - i)); 0 where there are none. queries, keys, values
/// [B, T, H, D]; slopes: one of each head, or empty for none.
inline at::Tensor slow_causal_read(const at::Tensor& queries, const at::Tensor& keys,
                                   const at::Tensor& values, double scale, int64_t lag,
                                   const std::vector<double>& slopes) {
  const int64_t B = queries.size(0), T = queries.size(1), H = queries.size(2);
  at::Tensor y = at::zeros_like(values);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t t = lag; t < T; ++t) {
        double total = 0;
        for (int64_t i = 0; i <= t - lag; ++i) {
          double score = scale * queries[b][t][h].dot(keys[b][i][h]).item<double>();
          if (!slopes.empty()) score -= slopes[h] * (t - i);
          total += std::exp(score);
          y[b][t][h] += std::exp(score) * values[b][i][h];
        }
        y[b][t][h] /= total;
      }
  return y;
}

/// Rotary positions, one pair of channels after the other, in doubles. x [B, T, H, D], of which row
/// b begins at position first[b].
inline at::Tensor slow_rotary(const at::Tensor& x, const std::vector<int64_t>& first,
                              double base = 10000) {
  const int64_t B = x.size(0), T = x.size(1), H = x.size(2), D = x.size(3);
  at::Tensor y = at::empty_like(x);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < T; ++t)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t j = 0; j < D / 2; ++j) {
          const double angle = (first[b] + t) * std::pow(base, -2.0 * j / D);
          const at::Tensor from = x[b][t][h], to = y[b][t][h];
          to[j] = from[j] * std::cos(angle) - from[j + D / 2] * std::sin(angle);
          to[j + D / 2] = from[j + D / 2] * std::cos(angle) + from[j] * std::sin(angle);
        }
  return y;
}

}  // namespace tessera::test
