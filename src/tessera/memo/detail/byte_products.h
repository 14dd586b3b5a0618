#pragma once

#include <cstdint>

namespace tessera::memo {

/// The largest magnitude allowed in the right factor. On processors without a dot product of bytes,
/// oneDNN adds pairs of products in 16 bits, and 2 * 255 * 64 still fits.
constexpr int kRightLimit = 64;

/// c [m, n] = a [m, k] b [k, n], plus c where `add`: exact on every processor for |b| <=
/// kRightLimit and k < 2^18. Rows lie lda, ldb, ldc apart.
void multiply_bytes(int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t lda, const int8_t* b,
                    int64_t ldb, bool add, int32_t* c, int64_t ldc);
/// c [m, n] += transpose(a [k, m]) b [k, n].
void add_transposed_product(int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t lda,
                            const int8_t* b, int64_t ldb, int32_t* c, int64_t ldc);

}  // namespace tessera::memo
