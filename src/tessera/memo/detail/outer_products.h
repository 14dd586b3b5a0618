#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tessera/memo/exact_correlation_memory.h"
#include "tessera/simd/threads.h"

namespace tessera::memo {

/// The largest magnitude of entries of 16, 32 or 64 bits, of which -2^63 counts as 1 - 2^63.
template <typename Entry>
int64_t largest_magnitude(std::span<const Entry> entries) {
  const auto count = std::ssize(entries);
  int64_t largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest) if (count >= simd::kWorthThreads)
  for (int64_t i = 0; i < count; ++i) {
    const int64_t entry = entries[i];
    largest = std::max(largest, std::abs(std::max(entry, -INT64_MAX)));
  }
  return largest;
}

/// The largest magnitude allowed in the right factor of a product of bytes. On processors without
/// an instruction for it, oneDNN adds pairs of products in 16 bits, and 2 * 255 * 64 still fits.
constexpr int kRightLimit = 64;

/// c [m, n] = a [m, k] b [k, n], plus c where `add`: exact on every processor for |b| <=
/// kRightLimit and k < 2^18. Rows lie lda, ldb, ldc apart.
void multiply_bytes(int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t lda, const int8_t* b,
                    int64_t ldb, bool add, int32_t* c, int64_t ldc);
/// c [m, n] += transpose(a [k, m]) b [k, n].
void add_transposed_product(int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t lda,
                            const int8_t* b, int64_t ldb, int32_t* c, int64_t ldc);

/// entries [K, D] += sign * keys^T values for n pairs of +-1 (Zanzotto et al. 2025, eq. 2). K and D
/// are the widths of the rows. Exact: the caller makes sure that no entry exceeds 32 bits.
void add_outer_products(const SignRows& keys, const SignRows& values, int sign, int32_t* entries);
/// The same for bytes: keys [n, K], values [n, D].
void add_outer_products(std::span<const int8_t> keys, std::span<const int8_t> values, int64_t K,
                        int64_t D, int sign, int32_t* entries);

/// values [n, D] = queries [n, K] entries [K, D], each the exact sum rounded once to float
/// (Zanzotto et al. 2025, eq. 3), at least for K <= 2^15; the same bits for every n and for entries
/// of 16 and of 32 bits.
template <typename Entry>
void read_outer_products(std::span<const int8_t> queries, const Entry* entries, int64_t K,
                         int64_t D, float* values);

}  // namespace tessera::memo
