#pragma once

#include <cstdint>

// The functions of OpenBLAS that this room calls, declared here because the project links its
// OpenMP build by path and asks for no BLAS header.
extern "C" {
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
void openblas_set_num_threads(int threads);
int openblas_get_num_threads();
}

namespace tessera::theory {

/// c [m, n] = a [m, k] b [k, n] + beta c; row-major, with row strides lda, ldb, ldc.
inline void multiply(int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                     int64_t ldb, float beta, float* c, int64_t ldc) {
  constexpr int kRowMajor = 101, kAsIs = 111;
  cblas_sgemm(kRowMajor, kAsIs, kAsIs, static_cast<int>(m), static_cast<int>(n),
              static_cast<int>(k), 1.0f, a, static_cast<int>(lda), b, static_cast<int>(ldb), beta,
              c, static_cast<int>(ldc));
}

/// c [m, n] = a [m, k] transpose(b [n, k]) + beta c; row-major, with row strides lda, ldb, ldc.
inline void multiply_transposed(int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
                                const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  constexpr int kRowMajor = 101, kAsIs = 111, kTransposed = 112;
  cblas_sgemm(kRowMajor, kAsIs, kTransposed, static_cast<int>(m), static_cast<int>(n),
              static_cast<int>(k), 1.0f, a, static_cast<int>(lda), b, static_cast<int>(ldb), beta,
              c, static_cast<int>(ldc));
}

/// Keeps OpenBLAS to one thread while it lives. The parallel loops of this room run over seeds and
/// row blocks, each with its own products: threads inside them would only fight, and would make
/// the last bits depend on their number.
class SerialBlas {
 public:
  SerialBlas() : threads_(openblas_get_num_threads()) { openblas_set_num_threads(1); }
  ~SerialBlas() { openblas_set_num_threads(threads_); }
  SerialBlas(const SerialBlas&) = delete;
  SerialBlas& operator=(const SerialBlas&) = delete;

 private:
  int threads_;
};

}  // namespace tessera::theory
