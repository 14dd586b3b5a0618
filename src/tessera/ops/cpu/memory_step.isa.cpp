#include "tessera/ops/cpu/memory_step.h"

#include <omp.h>

#include <cmath>

#include "tessera/ops/cpu/multiply_rows.h"
#include "tessera/ops/cpu/read_pairs.h"
#include "tessera/ops/cpu/scale_to_length.h"
#include "tessera/ops/cpu/sequence.h"
#include "tessera/simd/scratch.h"
#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {
namespace {

float factor(const HeadFactor& f, float x) {
  const float logarithm = f.slope * x;
  return std::exp(logarithm < f.bound ? logarithm : f.bound);
}

RowProducts product(const Projection& map, int64_t B, int64_t C, const float* x, float* y) {
  RowProducts f;
  f.rows = B;
  f.inputs = f.outputs = C;
  f.x = x;
  f.weight = map.weight;
  f.bias = map.bias;
  f.y = y;
  return f;
}

/// The outputs of head h, from x or, where the weights are of 8 bits, from x in whole numbers.
void project_head(const RowProducts& given, const Int8Vectors& x, int64_t h, int64_t D) {
  RowProducts f = given;
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

/// Stores the pair that was pending in head h of sequence b.
void complete_pair(const ContextStep& s, int64_t b, int64_t h, float scale) {
  const int64_t head = b * s.H + h;
  const float *last = s.value.last_raw_value + head * s.D, *now = s.value.raw_value + head * s.D;
  const int64_t place = (head * s.capacity + s.slots[b]) * s.D;
  float *key = s.stored_keys + place, *value = s.stored_values + place;
  const float here = s.value.mix[h], ahead = 1 - here;
  for (int64_t d = 0; d < s.D; ++d) {
    key[d] = s.last_key[head * s.D + d];
    value[d] = here * last[d] + ahead * now[d];
  }
  scale_to_length(value, scale, s.value.epsilon, s.D, value);
}

/// Room for the smoothing weights of any head.
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
void add_answers(const PersistentStep& s, int64_t b, int64_t p, int64_t h, int64_t row_elements,
                 float scale, const SlotReading& reading, float* reads) {
  const int64_t C = s.H * s.D, first = (p * s.H + h) * s.M * row_elements;
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

/// The same in all sequences; slots are row_elements apart.
template <typename Element>
void add_answers(const PersistentStep& s, int64_t p, int64_t h, int64_t row_elements, float scale,
                 const SlotReading& reading, float* reads) {
  int64_t b = 0;
  for (; b + kVectorsTogether <= s.B; b += kVectorsTogether)
    add_answers<kVectorsTogether, Element>(s, b, p, h, row_elements, scale, reading, reads);
  for (; b < s.B; ++b) add_answers<1, Element>(s, b, p, h, row_elements, scale, reading, reads);
}

/// The same for slots of any type.
void add_answers(const PersistentStep& s, int64_t p, int64_t h, float scale,
                 const SlotReading& reading, float* reads) {
  switch (s.slot_keys.type) {
    case WeightType::kFloat32:
      return add_answers<float>(s, p, h, s.D, scale, reading, reads);
    case WeightType::kBFloat16:
      return add_answers<BFloat16>(s, p, h, s.D, scale, reading, reads);
    case WeightType::kInt8:
      return add_answers<int8_t>(s, p, h, int8_row_bytes(s.D), scale, reading, reads);
  }
}

}  // namespace

void context_step(const ContextStep& s) {
  const int64_t C = s.H * s.D, most = most_pairs(s);
  const bool worth = 2 * C * (C + s.B * most) >= simd::kWorthThreadsOfReading;
  const int threads = simd::region_threads(worth);
  const simd::ThreadMemory shared(1, s.B * C), memory(threads, most);
  float* reads = shared.of(0);
  const RoundedVectors rounding(s.key.projection.weight.type, s.B, C);
  const Int8Vectors& x = rounding.of(s.x);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t h = 0; h < s.H; ++h) {
    extract_keys(s, x, h);
    project_head(product(s.value.projection, s.B, C, s.x, s.value.raw_value), x, h, s.D);
    const float scale = factor(s.value.scale, s.value.scale.x[h]);
    for (int64_t b = 0; b < s.B; ++b) {
      complete_pair(s, b, h, scale);
      const int64_t head = b * s.H + h, pairs = head * s.capacity * s.D;
      read_pairs<1>(s.key.key + head * s.D, s.stored_keys + pairs, s.stored_values + pairs,
                    s.counts[b], s.D, memory.of(omp_get_thread_num()), reads + head * s.D);
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
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t h = 0; h < s.H; ++h) {
    extract_keys(s, x, h);
    const float scale = factor(s.scale, s.scale.x[h]) / static_cast<float>(s.P);
    const SlotReading reading(s, memory.of(omp_get_thread_num()));
    for (int64_t b = 0; b < s.B; ++b)
      for (int64_t d = 0; d < s.D; ++d) reads[b * C + h * s.D + d] = 0;
    for (int64_t p = 0; p < s.P; ++p) add_answers(s, p, h, scale, reading, reads);
  }
  row_products(product(s.output, s.B, C, reads, s.y));
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
