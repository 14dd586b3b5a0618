#include "tessera/memo/detail/byte_products.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <new>
#include <stdexcept>

namespace tessera::memo {
namespace {

/// oneDNN multiplies bytes exactly on x86-64 alone: elsewhere its sums pass through float32, which
/// holds no more than 24 bits. And for a single column it swaps the factors, so that the limit
/// would apply to the left one.
bool is_exact_in_onednn([[maybe_unused]] int64_t columns) {
#ifdef __x86_64__
  return columns > 1;
#else
  return false;
#endif
}

/// The same by loops. Element (i, s) of `a` is a[i * row_step + s * step].
void multiply_by_loops(int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t row_step,
                       int64_t step, const int8_t* b, int64_t ldb, bool add, int32_t* c,
                       int64_t ldc) {
  for (int64_t i = 0; i < m; ++i) {
    int32_t* __restrict sums = c + i * ldc;
    if (!add) std::fill_n(sums, n, 0);
    for (int64_t s = 0; s < k; ++s) {
      const int32_t factor = a[i * row_step + s * step];
      const int8_t* __restrict row = b + s * ldb;
      for (int64_t j = 0; j < n; ++j) sums[j] += factor * row[j];
    }
  }
}

void multiply(bool transpose_a, int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t lda,
              const int8_t* b, int64_t ldb, bool add, int32_t* c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0 || !is_exact_in_onednn(n))
    return multiply_by_loops(m, n, k, a, transpose_a ? 1 : lda, transpose_a ? lda : 1, b, ldb, add,
                             c, ldc);
  const int32_t no_offset = 0;
  const auto status = dnnl_gemm_s8s8s32(transpose_a ? 'T' : 'N', 'N', 'F', m, n, k, 1.0f, a, lda, 0,
                                        b, ldb, 0, add ? 1.0f : 0.0f, c, ldc, &no_offset);
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  if (status != dnnl_success) throw std::logic_error("multiply_bytes: refused by oneDNN");
}

}  // namespace

void multiply_bytes(int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t lda, const int8_t* b,
                    int64_t ldb, bool add, int32_t* c, int64_t ldc) {
  multiply(false, m, n, k, a, lda, b, ldb, add, c, ldc);
}

void add_transposed_product(int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t lda,
                            const int8_t* b, int64_t ldb, int32_t* c, int64_t ldc) {
  multiply(true, m, n, k, a, lda, b, ldb, true, c, ldc);
}

}  // namespace tessera::memo
