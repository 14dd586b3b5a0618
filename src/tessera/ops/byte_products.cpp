#include "tessera/ops/byte_products.h"

#include <oneapi/dnnl/dnnl.h>

#include <stdexcept>

namespace tessera::ops {
namespace {

void multiply(char transpose_a, int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t lda,
              const int8_t* b, int64_t ldb, bool add, int32_t* c, int64_t ldc) {
  if (m == 0 || n == 0 || k == 0) return;
  const int32_t no_offset = 0;
  const auto status = dnnl_gemm_s8s8s32(transpose_a, 'N', 'F', m, n, k, 1.0f, a, lda, 0, b, ldb, 0,
                                        add ? 1.0f : 0.0f, c, ldc, &no_offset);
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  if (status != dnnl_success) throw std::logic_error("multiply_bytes: refused by oneDNN");
}

}  // namespace

void multiply_bytes(int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t lda, const int8_t* b,
                    int64_t ldb, bool add, int32_t* c, int64_t ldc) {
  multiply('N', m, n, k, a, lda, b, ldb, add, c, ldc);
}

void add_transposed_product(int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t lda,
                            const int8_t* b, int64_t ldb, int32_t* c, int64_t ldc) {
  multiply('T', m, n, k, a, lda, b, ldb, true, c, ldc);
}

}  // namespace tessera::ops
