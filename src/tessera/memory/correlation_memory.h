#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace tessera {

/// Correlation matrix memory (Kohonen 1972; Anderson 1972): C [K, D], the sum of the outer products
/// k^T v of the pairs it holds. Zanzotto et al. 2025, eq. 1. A key gives back its value with weight
/// |k|^2, and of every other value its key's share k . k'. A value: copies share nothing.
///
/// Keys are [n, K] and values [n, D], one product for all n pairs, or one pair [K] and [D]; their
/// dtype and device are the memory's. Every member throws UsageError where they do not fit and
/// leaves the memory as it was.
class CorrelationMemory {
 public:
  /// An empty memory of rows K and columns D; of floating point numbers, as the next.
  CorrelationMemory(int64_t rows, int64_t columns,
                    const at::TensorOptions& options = at::TensorOptions());
  /// A memory with this matrix C [K, D], which it shares.
  explicit CorrelationMemory(at::Tensor matrix);
  CorrelationMemory(const CorrelationMemory& other);
  CorrelationMemory& operator=(const CorrelationMemory& other);
  CorrelationMemory(CorrelationMemory&&) = default;
  CorrelationMemory& operator=(CorrelationMemory&&) = default;

  /// C + keys^T values.
  void store(const at::Tensor& keys, const at::Tensor& values) { add(keys, values, 1); }
  /// C - keys^T values: removes pairs that were stored, up to rounding.
  void forget(const at::Tensor& keys, const at::Tensor& values) { add(keys, values, -1); }
  /// keys C: [n, D] or [D].
  at::Tensor retrieve(const at::Tensor& keys) const;
  /// C + the other's C: the pairs of both.
  void merge(const CorrelationMemory& other);

  int64_t rows() const { return matrix_.size(0); }     ///< K
  int64_t columns() const { return matrix_.size(1); }  ///< D
  /// C [K, D]; not to be written to.
  const at::Tensor& matrix() const { return matrix_; }

 private:
  void add(const at::Tensor& keys, const at::Tensor& values, double sign);

  at::Tensor matrix_;
};

}  // namespace tessera
