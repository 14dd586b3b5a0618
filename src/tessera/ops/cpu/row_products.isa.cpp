#include "tessera/ops/cpu/row_products.h"

#include "tessera/ops/cpu/dot_products.h"
#include "tessera/ops/cpu/sequence.h"

namespace tessera::cpu::TESSERA_ISA {

void row_products(const RowProducts& f) {
  const bool worth = f.rows * f.inputs * f.outputs >= kWorthThreads;
#pragma omp parallel for schedule(static) if (worth)
  for (int64_t o = 0; o < f.outputs; o += kRowsTogether) {
    const int64_t count = f.outputs - o < kRowsTogether ? f.outputs - o : kRowsTogether;
    for (int64_t r = 0; r < f.rows; ++r) {
      float* y = f.y + r * f.outputs + o;
      dot_products(f.x + r * f.inputs, f.weight + o * f.inputs, count, f.inputs, y);
      if (f.bias)
        for (int64_t k = 0; k < count; ++k) y[k] += f.bias[o + k];
    }
  }
}

}  // namespace tessera::cpu::TESSERA_ISA
