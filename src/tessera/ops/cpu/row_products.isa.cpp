#include "tessera/ops/cpu/row_products.h"

#include "tessera/ops/cpu/few_rows.h"
#include "tessera/ops/cpu/sequence.h"
#include "tessera/simd/threads.h"

namespace tessera::cpu::TESSERA_ISA {

void row_products(const RowProducts& f) {
  const bool worth = f.inputs * f.outputs >= simd::kWorthThreadsOfReading;
#pragma omp parallel for schedule(static) if (worth)
  for (int64_t o = 0; o < f.outputs; o += kRowsTogether)
    multiply(f, o, f.outputs - o < kRowsTogether ? f.outputs : o + kRowsTogether);
}

}  // namespace tessera::cpu::TESSERA_ISA
