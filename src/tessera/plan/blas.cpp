#include "tessera/plan/blas.h"

#include <omp.h>

#include <mutex>

namespace tessera::theory {
namespace {

std::mutex serial_blas_mutex;  // of the two
int living_serial_blas = 0;
int blas_threads_before = 1;

/// OpenBLAS tells OpenMP the same number, for the parallel regions that this thread begins.
void set_blas_threads(int threads) {
  const int of_openmp = omp_get_max_threads();
  openblas_set_num_threads(threads);
  omp_set_num_threads(of_openmp);
}

}  // namespace

SerialBlas::SerialBlas() {
  const std::lock_guard lock(serial_blas_mutex);
  if (living_serial_blas++ > 0) return;
  blas_threads_before = openblas_get_num_threads();
  set_blas_threads(1);
}

SerialBlas::~SerialBlas() {
  const std::lock_guard lock(serial_blas_mutex);
  if (--living_serial_blas == 0) set_blas_threads(blas_threads_before);
}

}  // namespace tessera::theory
