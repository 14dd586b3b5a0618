#include "tessera/ops/cpu/memory_read.h"

#include "tessera/ops/cpu/read_pairs.h"
#include "tessera/ops/cpu/sequence.h"
#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {

namespace {

template <typename Element>
void read_all(const MemoryRead& read) {
  const bool worth = 2 * read.B * read.H * read.N * read.D >= simd::kWorthThreadsOfReading;
  // Rows of one head after another: where they share its pairs, these stay in the cache.
#pragma omp parallel for collapse(2) schedule(static) if (worth)
  for (int64_t h = 0; h < read.H; ++h)
    for (int64_t b = 0; b < read.B; ++b) {
      const int64_t head = b * read.H + h, count = read.counts ? read.counts[b] : read.N;
      const float* query = read.query + head * read.D;
      const Element* keys =
          read.keys.as<Element>() + b * read.key_batch_stride + h * read.key_head_stride;
      const Element* values =
          read.values.as<Element>() + b * read.value_batch_stride + h * read.value_head_stride;
      float* weights = read.weights + head * read.N;
      float* y = read.value + head * read.D;
      read_pairs<1>(query, keys, values, count, read.D, weights, y);
      for (int64_t i = count; i < read.N; ++i) weights[i] = 0;
    }
}

}  // namespace

void memory_read(const MemoryRead& read) {
  with_element(read.keys.type, [&](auto element) { read_all<decltype(element)>(read); });
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
