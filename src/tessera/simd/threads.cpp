#include "tessera/simd/threads.h"

#include <omp.h>

namespace tessera::simd {

int region_threads(bool worth_threads) {
  return worth_threads && !omp_in_parallel() ? omp_get_max_threads() : 1;
}

}  // namespace tessera::simd
