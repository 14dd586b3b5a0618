#include "tessera/ops/cpu/row_products.h"

#include "tessera/ops/cpu/multiply_rows.h"
#include "tessera/ops/cpu/sequence.h"
#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {

void row_products(const RowProducts& given) {
  const RoundedVectors rounded(given.weight.type, given.rows, given.inputs);
  RowProducts f = given;
  f.rounded = rounded.of(f.x);
  const bool worth = f.inputs * f.outputs >= simd::kWorthThreadsOfReading;
#pragma omp parallel for schedule(static) if (worth)
  for (int64_t o = 0; o < f.outputs; o += kRowsTogether)
    multiply_rows(f, o, f.outputs - o < kRowsTogether ? f.outputs : o + kRowsTogether);
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
