#include "tessera/train/detail/flush_denormals.h"

#include <ATen/Context.h>

namespace tessera {

FlushDenormals::FlushDenormals() {
  std::fegetenv(&before_);
#pragma omp parallel
  at::globalContext().setFlushDenormal(true);
}

FlushDenormals::~FlushDenormals() {
#pragma omp parallel
  std::fesetenv(&before_);
}

}  // namespace tessera
