#pragma once

// Only for *.isa.cpp files: products of a few rows with a matrix that is read once.

#include "tessera/ops/cpu/dot_products.h"
#include "tessera/ops/cpu/int8/int8_products.h"
#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {

/// Outputs [first, first + count) of `vectors` rows of x from row `r` on.
template <int vectors, typename Element>
inline void multiply_columns(const Products& f, int64_t r, int64_t first, int64_t count) {
  Vector y[vectors];
  dot_products<vectors>(f.x + r * f.inputs, f.weight.as<Element>() + first * f.inputs, count,
                        f.inputs, y);
  for (int v = 0; v < vectors; ++v) {
    if (f.bias) y[v] += load_part(f.bias + first, count);
    store_part(f.y + (r + v) * f.outputs + first, y[v], count);
  }
}

template <typename Element>
inline void multiply_elements(const Products& f, int64_t first, int64_t end) {
  for (int64_t o = first; o < end; o += kRowsTogether) {
    const int64_t count = end - o < kRowsTogether ? end - o : kRowsTogether;
    int64_t r = 0;
    for (; r + kVectorsTogether <= f.rows; r += kVectorsTogether)
      multiply_columns<kVectorsTogether, Element>(f, r, o, count);
    for (; r < f.rows; ++r) multiply_columns<1, Element>(f, r, o, count);
  }
}

/// Outputs [first, end) of all rows.
inline void multiply_rows(const Products& f, int64_t first, int64_t end) {
  switch (f.weight.type) {
    case WeightType::kFloat32:
      return multiply_elements<float>(f, first, end);
    case WeightType::kBFloat16:
      return multiply_elements<BFloat16>(f, first, end);
    case WeightType::kInt8:
      return cpu::multiply_few({f, first, end});
  }
}

/// Vectors x [rows, length] in whole numbers, in memory of their own, where weights of this type
/// are multiplied with such; none otherwise. On this thread.
class RoundedVectors {
 public:
  RoundedVectors(WeightType type, int64_t rows, int64_t length)
      : vectors_(type == WeightType::kInt8 ? Int8Vectors{rows, length} : Int8Vectors{}),
        memory_(1, vectors_.size()) {
    vectors_.lie_in(memory_.of(0));
  }
  const Int8Vectors& of(const float* x) const {
    if (vectors_.rows > 0) cpu::round_vectors({x, vectors_});
    return vectors_;
  }

 private:
  Int8Vectors vectors_;
  simd::ThreadMemory memory_;
};

}  // namespace tessera::ops::cpu::TESSERA_ISA
