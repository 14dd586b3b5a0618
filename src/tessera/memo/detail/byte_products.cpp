#include "tessera/memo/detail/byte_products.h"

#include <oneapi/dnnl/dnnl.h>

#include <new>
#include <stdexcept>

namespace tessera::memo {
namespace {

/// c [m, 1] from a [m, k], or its transpose, by strides. For a single column oneDNN swaps the
/// factors, and the limit would apply to the left one.
void multiply_column(int64_t m, int64_t k, const int8_t* a, int64_t row_step, int64_t step,
                     const int8_t* b, int64_t ldb, bool add, int32_t* c, int64_t ldc) {
  for (int64_t i = 0; i < m; ++i) {
    int32_t sum = add ? c[i * ldc] : 0;
    for (int64_t s = 0; s < k; ++s) sum += int{a[i * row_step + s * step]} * int{b[s * ldb]};
    c[i * ldc] = sum;
  }
}

void multiply(bool transpose_a, int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t lda,
              const int8_t* b, int64_t ldb, bool add, int32_t* c, int64_t ldc) {
  if (m == 0 || n == 0 || k == 0) return;
  if (n == 1)
    return multiply_column(m, k, a, transpose_a ? 1 : lda, transpose_a ? lda : 1, b, ldb, add, c,
                           ldc);
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
