#include "tessera/ops/cpu/int8/memory_step.h"

#include <omp.h>

#include <cmath>
#include <cstring>

#include "tessera/ops/cpu/few_rows.h"
#include "tessera/ops/cpu/multiply_rows.h"
#include "tessera/ops/cpu/read_pairs.h"
#include "tessera/ops/cpu/scale_to_length.h"
#include "tessera/ops/cpu/tensor_views.h"
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

float factor(const HeadFactor& f, float x) {
  const float logarithm = f.slope * x;
  return std::exp(logarithm < f.bound ? logarithm : f.bound);
}

Products product(const Projection& map, int64_t B, int64_t C, const float* x, float* y) {
  return {
      .rows = B, .inputs = C, .outputs = C, .x = x, .weight = map.weight, .bias = map.bias, .y = y};
}

/// The outputs of head h, from x or, where the weights are of 8 bits, from x in whole numbers.
void project_head(Products f, const Int8Vectors& x, int64_t h, int64_t D) {
  f.rounded = x;
  multiply_rows(f, h * D, (h + 1) * D);
}

/// The keys of head h in all sequences.
template <typename Step>
void extract_keys(const Step& s, const Int8Vectors& x, int64_t h) {
  const int64_t C = s.H * s.D;
  const KeyStep& k = s.key;
  project_head(product(k.projection, s.B, C, s.x, k.leaky_key), x, h, s.D);
  const float decay = factor(k.decay, std::abs(k.decay.x[h])),
              scale = factor(k.scale, k.scale.x[h]);
  for (int64_t b = 0; b < s.B; ++b) {
    const int64_t head = b * C + h * s.D;
    float* average = k.leaky_key + head;
    if (k.last_leaky_key)
      for (int64_t d = 0; d < s.D; ++d) average[d] += decay * k.last_leaky_key[head + d];
    scale_to_length(average, scale, k.epsilon, s.D, k.key + head);
  }
}

// A row of floats [D] in the numbers that a memory keeps: the same bits as stored_as() of
// ops/weights.h gives.

uint32_t bits_of(float x) {
  return __builtin_bit_cast(uint32_t, x);
}

/// To nearest even; NaN stays NaN.
BFloat16 to_bfloat16(float x) {
  const uint32_t bits = bits_of(x), odd = bits >> 16 & 1;
  return x != x ? 0x7fc0 : static_cast<BFloat16>((bits + 0x7fff + odd) >> 16);
}

void store_row(const float* x, int64_t D, float* row) {
  std::memcpy(row, x, D * sizeof(float));
}

void store_row(const float* x, int64_t D, BFloat16* row) {
  for (int64_t d = 0; d < D; ++d) row[d] = to_bfloat16(x[d]);
}

/// A block that holds a NaN or an infinity has a scale that is NaN, and so reads as NaN.
void store_row(const float* x, int64_t D, int8_t* row) {
  auto* scales = reinterpret_cast<BFloat16*>(row + weight_blocks(D) * kWeightBlock);
  std::memset(row, 0, weight_blocks(D) * kWeightBlock);
  for (int64_t block = 0; block < weight_blocks(D); ++block) {
    const int64_t first = block * kWeightBlock, count = smaller(D - first, kWeightBlock);
    float largest = 0, zero = 0;  // zero becomes NaN where an element is not finite
    for (int64_t d = first; d < first + count; ++d) {
      largest = std::fmax(largest, std::abs(x[d]));
      zero += x[d] - x[d];
    }
    const uint32_t scale_bits = (bits_of(largest / 127) + 0xffff) & 0xffff0000;  // rounded up
    const float scale = __builtin_bit_cast(float, scale_bits);
    scales[block] = zero == 0 ? static_cast<BFloat16>(scale_bits >> 16) : 0x7fc0;
    if (zero != 0 || scale == 0) continue;
    for (int64_t d = first; d < first + count; ++d) {
      const float whole = std::nearbyint(x[d] / scale);
      row[d] = static_cast<int8_t>(whole > 127 ? 127 : whole < -127 ? -127 : whole);
    }
  }
}

/// The pairs of head h of sequence b, keys or values.
template <typename Element>
Element* stored_rows(const ContextStep& s, void* all, int64_t b, int64_t h) {
  return static_cast<Element*>(all) + (b * s.H + h) * s.capacity * row_elements<Element>(s.D);
}

/// Stores the pair that was pending in head h of sequence b. value [D] receives its value.
template <typename Element>
void complete_pair(const ContextStep& s, int64_t b, int64_t h, float scale, float* value) {
  const int64_t head = (b * s.H + h) * s.D, place = s.slots[b] * row_elements<Element>(s.D);
  const float *last = s.value.last_raw_value + head, *now = s.value.raw_value + head;
  const float here = s.value.mix[h], ahead = 1 - here;
  for (int64_t d = 0; d < s.D; ++d) value[d] = here * last[d] + ahead * now[d];
  scale_to_length(value, scale, s.value.epsilon, s.D, value);
  store_row(s.last_key + head, s.D, stored_rows<Element>(s, s.stored_keys, b, h) + place);
  store_row(value, s.D, stored_rows<Element>(s, s.stored_values, b, h) + place);
}

/// Head h of sequence b stores its pending pair and reads all that it holds then. memory: for
/// most_pairs() floats or D, whichever is more.
template <typename Element>
void store_and_read(const ContextStep& s, int64_t b, int64_t h, float scale, float* memory,
                    float* read) {
  complete_pair<Element>(s, b, h, scale, memory);
  read_pairs<1>(s.key.key + (b * s.H + h) * s.D, stored_rows<Element>(s, s.stored_keys, b, h),
                stored_rows<Element>(s, s.stored_values, b, h), s.counts[b], s.D, memory, read);
}

/// Of any sequence.
int64_t most_pairs(const ContextStep& s) {
  int64_t most = 0;
  for (int64_t b = 0; b < s.B; ++b) most = s.counts[b] > most ? s.counts[b] : most;
  return most;
}

/// A thread's memory for the reading of slots: for kVectorsTogether sequences their queries [D],
/// weights [M] and answers [D].
struct SlotReading {
  float *queries, *weights, *answers;

  SlotReading(const PersistentStep& s, float* memory)
      : queries(memory),
        weights(queries + kVectorsTogether * s.D),
        answers(weights + kVectorsTogether * s.M) {}
  static int64_t size(const PersistentStep& s) { return kVectorsTogether * (s.M + 2 * s.D); }
};

/// reads [D] of head h += scale times the answer of memory p, in `sequences` sequences from b on.
template <int sequences, typename Element>
void add_answers(const PersistentStep& s, int64_t b, int64_t p, int64_t h, float scale,
                 const SlotReading& reading, float* reads) {
  const int64_t C = s.H * s.D, first = (p * s.H + h) * s.M * row_elements<Element>(s.D);
  for (int64_t q = 0; q < sequences; ++q)
    for (int64_t d = 0; d < s.D; ++d)
      reading.queries[q * s.D + d] = s.key.key[(b + q) * C + h * s.D + d];
  read_pairs<sequences>(reading.queries, s.slot_keys.as<Element>() + first,
                        s.slot_values.as<Element>() + first, s.M, s.D, reading.weights,
                        reading.answers);
  for (int64_t q = 0; q < sequences; ++q)
    for (int64_t d = 0; d < s.D; ++d)
      reads[(b + q) * C + h * s.D + d] += scale * reading.answers[q * s.D + d];
}

/// The same in all sequences.
template <typename Element>
void add_answers(const PersistentStep& s, int64_t p, int64_t h, float scale,
                 const SlotReading& reading, float* reads) {
  int64_t b = 0;
  for (; b + kVectorsTogether <= s.B; b += kVectorsTogether)
    add_answers<kVectorsTogether, Element>(s, b, p, h, scale, reading, reads);
  for (; b < s.B; ++b) add_answers<1, Element>(s, b, p, h, scale, reading, reads);
}

}  // namespace

void memory_read(const MemoryRead& read) {
  with_element(read.keys.type, [&](auto element) { read_all<decltype(element)>(read); });
}

void context_step(const ContextStep& s) {
  const int64_t C = s.H * s.D, most = most_pairs(s);
  const bool worth = 2 * C * (C + s.B * most) >= simd::kWorthThreadsOfReading;
  const int threads = simd::region_threads(worth);
  const simd::ThreadMemory shared(1, s.B * C), memory(threads, most > s.D ? most : s.D);
  float* reads = shared.of(0);
  const RoundedVectors rounding(s.key.projection.weight.type, s.B, C);
  const Int8Vectors& x = rounding.of(s.x);
  // A thread's heads are the same in all three loops. What lies one behind the other in memory is
  // read so, which the processor foresees.
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static) nowait
    for (int64_t h = 0; h < s.H; ++h) extract_keys(s, x, h);
#pragma omp for schedule(static) nowait
    for (int64_t h = 0; h < s.H; ++h)
      project_head(product(s.value.projection, s.B, C, s.x, s.value.raw_value), x, h, s.D);
#pragma omp for schedule(static) nowait
    for (int64_t h = 0; h < s.H; ++h) {
      const float scale = factor(s.value.scale, s.value.scale.x[h]);
      for (int64_t b = 0; b < s.B; ++b)
        with_element(s.stored_type, [&](auto element) {
          store_and_read<decltype(element)>(s, b, h, scale, memory.of(omp_get_thread_num()),
                                            reads + (b * s.H + h) * s.D);
        });
    }
  }
  row_products(product(s.output, s.B, C, reads, s.y));
}

void persistent_step(const PersistentStep& s) {
  const int64_t C = s.H * s.D;
  const bool worth = C * (C + 2 * s.P * s.M) >= simd::kWorthThreadsOfReading;
  const int threads = simd::region_threads(worth);
  const simd::ThreadMemory shared(1, s.B * C), memory(threads, SlotReading::size(s));
  float* reads = shared.of(0);
  const RoundedVectors rounding(s.key.projection.weight.type, s.B, C);
  const Int8Vectors& x = rounding.of(s.x);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static) nowait
    for (int64_t h = 0; h < s.H; ++h) extract_keys(s, x, h);
#pragma omp for schedule(static) nowait
    for (int64_t h = 0; h < s.H; ++h) {
      const float scale = factor(s.scale, s.scale.x[h]) / static_cast<float>(s.P);
      const SlotReading reading(s, memory.of(omp_get_thread_num()));
      for (int64_t b = 0; b < s.B; ++b)
        for (int64_t d = 0; d < s.D; ++d) reads[b * C + h * s.D + d] = 0;
      with_element(s.slot_keys.type, [&](auto element) {
        for (int64_t p = 0; p < s.P; ++p)
          add_answers<decltype(element)>(s, p, h, scale, reading, reads);
      });
    }
  }
  row_products(product(s.output, s.B, C, reads, s.y));
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
