// Tiled softmax reads: a block of queries reads the pairs block by block, with a running maximum
// and sum (Milakov & Gimelshein 2018), so that no [T, N] matrix exists; the backward pass
// recomputes the weights from the saved log-sums (Dao et al. 2022).

#include "tessera/ops/cpu/softmax_read/softmax_read.h"

#include <omp.h>

#include <cfloat>
#include <cmath>

#ifdef TESSERA_BFLOAT16_PRODUCTS
#include "tessera/ops/cpu/softmax_read/bfloat16_products.h"
#else
#include "tessera/ops/cpu/softmax_read/float_products.h"
#endif
#include "tessera/ops/cpu/scale_to_length.h"
#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {
namespace {

/// 0 or 1 / (1 - p) for the pairs first_pair, first_pair + 1, …
inline Vector dropout_factor(uint32_t row_key, uint32_t threshold, int64_t first_pair,
                             float kept_factor) {
  const WordVector pairs =
      reinterpret_cast<WordVector>(lane_numbers()) + static_cast<uint32_t>(first_pair);
  const WordVector words = mix32(pairs * kPairStep + row_key);
  return words >= threshold ? fill(kept_factor) : Vector{};
}

/// Scores that row r does not read, up to the end of a vector.
void hide(const Tile& tile, int64_t r, float* row, float hidden) {
  const int64_t visible = tile.visible(r), outside = tile.outside_window(r);
  for (int64_t j = 0; j < outside; ++j) row[j] = hidden;
  for (int64_t j = visible; j < round_up(visible, kLanes); ++j) row[j] = hidden;
}

/// Zeros from the last vector that the row reads to the end of the tile.
void clear_rest(float* row, int64_t visible, int64_t pairs) {
  for (int64_t j = round_up(visible, kLanes); j < round_up(pairs, kPairPadding); j += kLanes)
    store(row + j, Vector{});
}

/// The N keys or values of (b, h).
template <typename Packed>
void pack(const WeightSequence& pairs, int64_t b, int64_t h, const SoftmaxRead& read,
          Packed& packed) {
  with_element(pairs.rows.type, [&](auto element) {
    packed.template pack<decltype(element)>(pairs, b, h, read.N, read.D);
  });
}

/// Running softmax of one row.
struct RunningSum {
  float maximum = -FLT_MAX;
  float sum = 0;
};

/// Scores of row r become weights relative to the running maximum. Returns the factor that brings
/// earlier sums to the new maximum.
float update_row(const Tile& tile, int64_t r, const WeightTile& weights, RunningSum& running) {
  const SoftmaxRead& read = tile.read;
  const int64_t visible = tile.visible(r);
  float* scores = weights.row(r);
  hide(tile, r, scores, -INFINITY);
  const int64_t end = round_up(visible, kLanes);
  if (read.slopes) {
    const Vector step = __builtin_convertvector(lane_numbers(), Vector) * read.slopes[tile.h];
    for (int64_t j = 0; j < end; j += kLanes)
      store(scores + j, load(scores + j) + (step + (tile.bias(r) + read.slopes[tile.h] * j)));
  }
  Vector best = fill(running.maximum);
  for (int64_t j = 0; j < end; j += kLanes) best = larger(best, load(scores + j));
  const float maximum = largest(best);

  const bool drops = read.dropout_probability > 0;
  const uint32_t row_key = dropout_row_key(tile.dropout_head, tile.first_query + r);
  const float kept = static_cast<float>(1 / (1 - read.dropout_probability));
  Vector total{};
  for (int64_t j = 0; j < end; j += kLanes) {
    Vector weight = exponential_of_score(load(scores + j) - maximum);
    total += weight;
    if (drops) weight *= dropout_factor(row_key, tile.dropout_threshold, tile.first_pair + j, kept);
    weights.set_weights(r, j, weight);
  }
  for (int64_t j = end; j < round_up(tile.pairs, kPairPadding); j += kLanes)
    weights.set_weights(r, j, Vector{});
  const float factor = exponential(fill(running.maximum - maximum))[0];
  running = {maximum, running.sum * factor + sum(total)};
  return factor;
}

struct ForwardWork {
  QueryRows queries;
  PairPanels keys;
  PairRows values;
  WeightTile weights;
  float* result;  // [kQueryBlock, width]

  ForwardWork(simd::Scratch& scratch, const SoftmaxRead& read)
      : queries(scratch, read.D),
        keys(scratch, read.N, read.D),
        values(scratch, read.N, read.D),
        weights(scratch),
        result(scratch.floats(kQueryBlock * padded_width(read.D))) {}
};

void write_block(const SoftmaxReadForward& forward, const Tile& tile, const float* result,
                 const RunningSum* running) {
  const SoftmaxRead& read = forward.read;
  const int64_t first = (tile.b * read.H + tile.h) * read.T + tile.first_query;
  for (int64_t r = 0; r < tile.rows; ++r) {
    const float scale = running[r].sum == 0 ? 0 : 1 / running[r].sum;  // 0: nothing stored yet
    float* y = forward.output.row(tile.b, tile.first_query + r, tile.h);
    for (int64_t d = 0; d < read.D; ++d) y[d] = scale * result[r * padded_width(read.D) + d];
    forward.shifts[first + r] = running[r].maximum;
    forward.log_sums[first + r] = std::log(running[r].sum);
  }
}

void read_block(const SoftmaxReadForward& forward, Tile tile, ForwardWork& work) {
  const SoftmaxRead& read = forward.read;
  const int64_t width = padded_width(read.D);
  work.queries.pack(read.queries, tile, read.scale);
  for (int64_t k = 0; k < kQueryBlock * width; ++k) work.result[k] = 0;
  RunningSum running[kQueryBlock];
  const int64_t end = tile.pairs_read();
  for (tile.first_pair = tile.first_read(); tile.first_pair < end; tile.first_pair += kPairBlock) {
    tile.pairs = smaller(kPairBlock, end - tile.first_pair);
    score(tile, work.queries, work.keys, work.weights);
    for (int64_t r = 0; r < tile.rows; ++r) {
      const float factor = update_row(tile, r, work.weights, running[r]);
      if (factor != 1)
        for (int64_t d = 0; d < width; ++d) work.result[r * width + d] *= factor;
    }
    add_weighted_pairs(tile, work.weights, work.values, work.result);
  }
  write_block(forward, tile, work.result, running);
}

/// From scores and products dy . v of row r: the weights as they reached the output, in place of
/// the scores, and the gradients of the scores, in place of the products.
void differentiate_row(const Tile& tile, int64_t r, float shift, float log_sum, float delta,
                       float* scores, float* products) {
  const SoftmaxRead& read = tile.read;
  const int64_t visible = tile.visible(r);
  hide(tile, r, scores, -INFINITY);
  hide(tile, r, products, 0);
  const int64_t end = round_up(visible, kLanes);
  const float slope = read.slopes ? read.slopes[tile.h] : 0;
  const Vector step = __builtin_convertvector(lane_numbers(), Vector) * slope;
  const bool drops = read.dropout_probability > 0;
  const uint32_t row_key = dropout_row_key(tile.dropout_head, tile.first_query + r);
  const float kept = static_cast<float>(1 / (1 - read.dropout_probability));
  for (int64_t j = 0; j < end; j += kLanes) {
    const Vector score = load(scores + j) + (step + (tile.bias(r) + slope * j));
    const Vector weight = exponential_of_score((score - shift) - log_sum);
    if (drops) {
      const Vector factor =
          dropout_factor(row_key, tile.dropout_threshold, tile.first_pair + j, kept);
      store(scores + j, weight * factor);
      store(products + j, weight * (load(products + j) * factor - delta));
    } else {
      store(scores + j, weight);
      store(products + j, weight * (load(products + j) - delta));
    }
  }
  clear_rest(scores, visible, tile.pairs);
  clear_rest(products, visible, tile.pairs);
}

struct BackwardWork {
  QueryRows queries, grad_output;
  PairPanels keys, values;
  PairRows summed_keys;
  WeightTile weights, grad_scores;
  float* grad_queries;  // [kQueryBlock, width]
  PairGradient grad_keys, grad_values;

  BackwardWork(simd::Scratch& scratch, const SoftmaxRead& read)
      : queries(scratch, read.D),
        grad_output(scratch, read.D),
        keys(scratch, read.N, read.D),
        values(scratch, read.N, read.D),
        summed_keys(scratch, read.N, read.D),
        weights(scratch),
        grad_scores(scratch),
        grad_queries(scratch.floats(kQueryBlock * padded_width(read.D))),
        grad_keys(scratch, read.N, read.D),
        grad_values(scratch, read.N, read.D) {}
};

void differentiate_block(const SoftmaxReadBackward& backward, Tile tile, BackwardWork& work) {
  const SoftmaxRead& read = backward.read;
  const int64_t width = padded_width(read.D);
  const int64_t first = (tile.b * read.H + tile.h) * read.T + tile.first_query;
  work.queries.pack(read.queries, tile, read.scale);
  work.grad_output.pack(backward.grad_output, tile, 1);
  float delta[kQueryBlock];  // what the softmax's normalisation takes off a weight's gradient
  for (int64_t r = 0; r < tile.rows; ++r)
    delta[r] = dot(backward.output.row(tile.b, tile.first_query + r, tile.h),
                   backward.grad_output.row(tile.b, tile.first_query + r, tile.h), read.D);
  for (int64_t k = 0; k < kQueryBlock * width; ++k) work.grad_queries[k] = 0;

  const int64_t end = tile.pairs_read();
  for (tile.first_pair = tile.first_read(); tile.first_pair < end; tile.first_pair += kPairBlock) {
    tile.pairs = smaller(kPairBlock, end - tile.first_pair);
    score(tile, work.queries, work.keys, work.weights);
    score(tile, work.grad_output, work.values, work.grad_scores);
    for (int64_t r = 0; r < tile.rows; ++r)
      differentiate_row(tile, r, backward.shifts[first + r], backward.log_sums[first + r], delta[r],
                        work.weights.row(r), work.grad_scores.row(r));
    work.weights.to_sum_queries(tile);
    work.grad_scores.to_sum_queries(tile);
    work.grad_scores.to_sum_pairs(tile);
    add_weighted_queries(tile, work.weights, work.grad_output, work.grad_values);
    add_weighted_queries(tile, work.grad_scores, work.queries, work.grad_keys);
    add_weighted_pairs(tile, work.grad_scores, work.summed_keys, work.grad_queries);
  }
  for (int64_t r = 0; r < tile.rows; ++r) {
    float* dq = backward.grad_queries.row(tile.b, tile.first_query + r, tile.h);
    for (int64_t d = 0; d < read.D; ++d) dq[d] = read.scale * work.grad_queries[r * width + d];
  }
}

/// Memory that a thread needs for one kind of work, in floats.
template <typename Work>
int64_t floats_for(const SoftmaxRead& read) {
  simd::Scratch pieces;
  Work(pieces, read);
  return pieces.size();
}

}  // namespace

void softmax_read_forward(const SoftmaxReadForward& forward) {
  const SoftmaxRead& read = forward.read;
  const int threads = simd::region_threads();
  const simd::ThreadMemory memory(threads, floats_for<ForwardWork>(read));
#pragma omp parallel num_threads(threads)
  {
    const ProductUnit unit;
    simd::Scratch scratch(memory.of(omp_get_thread_num()));
    ForwardWork work(scratch, read);
#pragma omp for collapse(2) schedule(dynamic)
    for (int64_t h = 0; h < read.H; ++h)
      for (int64_t b = 0; b < read.B; ++b) {
        pack(read.keys, b, h, read, work.keys);
        pack(read.values, b, h, read, work.values);
        for (int64_t t = 0; t < read.T; t += kQueryBlock)
          read_block(forward, Tile(read, b, h, t, kQueryBlock), work);
      }
  }
}

void softmax_read_backward(const SoftmaxReadBackward& backward) {
  const SoftmaxRead& read = backward.read;
  const int64_t group_size = (read.B + backward.groups - 1) / backward.groups;
  const int threads = simd::region_threads();
  const simd::ThreadMemory memory(threads, floats_for<BackwardWork>(read));
#pragma omp parallel num_threads(threads)
  {
    const ProductUnit unit;
    simd::Scratch scratch(memory.of(omp_get_thread_num()));
    BackwardWork work(scratch, read);
#pragma omp for collapse(2) schedule(dynamic)
    for (int64_t h = 0; h < read.H; ++h)
      for (int64_t group = 0; group < backward.groups; ++group) {
        const int64_t first = group * group_size;
        pack(read.keys, first, h, read, work.keys);
        pack(read.keys, first, h, read, work.summed_keys);
        pack(read.values, first, h, read, work.values);
        work.grad_keys.clear();
        work.grad_values.clear();
        for (int64_t b = first; b < smaller(read.B, first + group_size); ++b)
          for (int64_t t = 0; t < read.T; t += kQueryBlock)
            differentiate_block(backward, Tile(read, b, h, t, kQueryBlock), work);
        work.grad_keys.unpack(backward.grad_keys, group, h);
        work.grad_values.unpack(backward.grad_values, group, h);
      }
  }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
