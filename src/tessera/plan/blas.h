#pragma once

#include <cstdint>
#include <type_traits>

// The functions of OpenBLAS that this room calls, declared here because the project links its
// OpenMP build by path and asks for no BLAS header.
extern "C" {
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
void cblas_dgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha,
                 const double* a, int lda, const double* b, int ldb, double beta, double* c,
                 int ldc);
void openblas_set_num_threads(int threads);
int openblas_get_num_threads();
}

namespace tessera::theory {

constexpr int kRowMajor = 101, kBlasAsIs = 111, kBlasTransposed = 112;

inline void gemm(int transpose_a, int transpose_b, int m, int n, int k, const float* a, int lda,
                 const float* b, int ldb, float beta, float* c, int ldc) {
  cblas_sgemm(kRowMajor, transpose_a, transpose_b, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}
inline void gemm(int transpose_a, int transpose_b, int m, int n, int k, const double* a, int lda,
                 const double* b, int ldb, double beta, double* c, int ldc) {
  cblas_dgemm(kRowMajor, transpose_a, transpose_b, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}

/// c [m, n] = a [m, k] b [k, n] + beta c; row-major, with row strides lda, ldb, ldc.
template <typename T>
void multiply(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb,
              std::type_identity_t<T> beta, T* c, int64_t ldc) {
  gemm(kBlasAsIs, kBlasAsIs, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

/// c [m, n] = a [m, k] transpose(b [n, k]) + beta c.
template <typename T>
void multiply_transposed(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                         int64_t ldb, std::type_identity_t<T> beta, T* c, int64_t ldc) {
  gemm(kBlasAsIs, kBlasTransposed, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

/// c [m, n] = transpose(a [k, m]) b [k, n] + beta c.
template <typename T>
void transposed_multiply(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                         int64_t ldb, std::type_identity_t<T> beta, T* c, int64_t ldc) {
  gemm(kBlasTransposed, kBlasAsIs, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

/// Keeps OpenBLAS to one thread while it lives, and OpenMP to as many as before. The parallel loops
/// of this room run over seeds and row blocks, each with its own products: threads inside them
/// would only fight, and would make the last bits depend on their number. Of those that live
/// together, nested or in several threads, the last gives OpenBLAS its threads back.
class SerialBlas {
 public:
  SerialBlas();
  ~SerialBlas();
  SerialBlas(const SerialBlas&) = delete;
  SerialBlas& operator=(const SerialBlas&) = delete;
};

}  // namespace tessera::theory
