#include "tessera/ops/cpu/row_products.h"

#include "tessera/ops/cpu/dot_products.h"
#include "tessera/ops/cpu/sequence.h"

namespace tessera::cpu::TESSERA_ISA {
namespace {

/// Outputs [first, first + count) of `vectors` rows of x from row `r` on.
template <int vectors>
void multiply(const RowProducts& f, int64_t r, int64_t first, int64_t count) {
  Vector y[vectors];
  dot_products<vectors>(f.x + r * f.inputs, f.weight + first * f.inputs, count, f.inputs,
                        /*ask_ahead=*/r == 0, y);
  for (int v = 0; v < vectors; ++v) {
    if (f.bias) y[v] += load_part(f.bias + first, count);
    store_part(f.y + (r + v) * f.outputs + first, y[v], count);
  }
}

}  // namespace

void row_products(const RowProducts& f) {
  const bool worth = f.inputs * f.outputs >= kWorthThreadsOfReading;
#pragma omp parallel for schedule(static) if (worth)
  for (int64_t o = 0; o < f.outputs; o += kRowsTogether) {
    const int64_t count = f.outputs - o < kRowsTogether ? f.outputs - o : kRowsTogether;
    int64_t r = 0;
    for (; r + kVectorsTogether <= f.rows; r += kVectorsTogether)
      multiply<kVectorsTogether>(f, r, o, count);
    for (; r < f.rows; ++r) multiply<1>(f, r, o, count);
  }
}

}  // namespace tessera::cpu::TESSERA_ISA
