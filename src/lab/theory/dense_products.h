#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/plan/blas.h"

/// Products of matrices whose rows follow one another without gaps, row-major, [m, n] each; k is
/// what is summed over. The softmax of such a row.
namespace tessera::theory {

/// BLAS wants a row to have a length, also where there is no row.
inline int64_t row_stride(int64_t length) {
  return std::max<int64_t>(length, 1);
}

/// a [m, k] b [k, n]
template <typename T>
std::vector<T> product(int64_t m, int64_t n, int64_t k, const T* a, const T* b) {
  std::vector<T> c(m * n);
  multiply(m, n, k, a, row_stride(k), b, row_stride(n), T{0}, c.data(), row_stride(n));
  return c;
}

/// a [m, k] transpose(b [n, k])
template <typename T>
std::vector<T> product_with_transposed(int64_t m, int64_t n, int64_t k, const T* a, const T* b) {
  std::vector<T> c(m * n);
  multiply_transposed(m, n, k, a, row_stride(k), b, row_stride(k), T{0}, c.data(), row_stride(n));
  return c;
}

/// transpose(a [k, m]) b [k, n]
template <typename T>
std::vector<T> transposed_product(int64_t m, int64_t n, int64_t k, const T* a, const T* b) {
  std::vector<T> c(m * n);
  transposed_multiply(m, n, k, a, row_stride(m), b, row_stride(n), T{0}, c.data(), row_stride(n));
  return c;
}

/// In place: the scores of one input -> weight * (p - onehot(right)), p their softmax. Returns
/// -log p(right).
template <typename T>
double softmax_residual(std::span<T> scores, int32_t right, T weight) {
  const T largest = *std::ranges::max_element(scores), right_score = scores[right];
  T total = 0;
  for (T& score : scores) total += score = std::exp(score - largest);
  for (T& score : scores) score *= weight / total;
  scores[right] -= weight;
  return std::log(double{total}) - double{right_score - largest};
}

}  // namespace tessera::theory
