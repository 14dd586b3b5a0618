#pragma once

// Only for *.isa.cpp files.

#include "tessera/ops/cpu/dropout.h"
#include "tessera/ops/cpu/load_weights.h"
#include "tessera/ops/cpu/softmax_read/softmax_read.h"
#include "tessera/simd/integer_vector.h"
#include "tessera/simd/vector.h"

namespace tessera::ops::cpu::TESSERA_ISA {

inline int64_t greater(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/// Queries [first_query, first_query + rows) against pairs [first_pair, first_pair + pairs) of
/// (b, h).
struct Tile {
  const SoftmaxRead& read;
  int64_t b, h;
  int64_t first_query, rows;
  int64_t first_pair = 0, pairs = 0;
  uint32_t dropout_head;
  uint32_t dropout_threshold;

  Tile(const SoftmaxRead& read_, int64_t b_, int64_t h_, int64_t first_query_, int64_t block)
      : read(read_),
        b(b_),
        h(h_),
        first_query(first_query_),
        rows(smaller(block, read_.T - first_query_)),
        dropout_head(dropout_head_key(read_.dropout_seed, b_, h_)),
        dropout_threshold(cpu::dropout_threshold(read_.dropout_probability)) {}

  /// Pairs that any query of the block reads.
  int64_t pairs_read() const {
    return read.causal ? greater(0, smaller(read.N, first_query + rows - read.lag)) : read.N;
  }
  /// Pairs of this tile that row r reads.
  int64_t visible(int64_t r) const {
    if (!read.causal) return pairs;
    return greater(0, smaller(pairs, first_query + r - read.lag + 1 - first_pair));
  }
  /// The first pair that any query of the block reads, or one a little before it where blocks of
  /// products begin.
  int64_t first_read() const {
    constexpr int64_t kAlignment = 64;
    if (read.window == 0) return 0;
    return greater(0, first_query - read.lag - read.window + 1) / kAlignment * kAlignment;
  }
  /// Those of the visible pairs that lie before the window of row r.
  int64_t outside_window(int64_t r) const {
    if (read.window == 0) return 0;
    const int64_t first = first_query + r - read.lag - read.window + 1;
    return smaller(visible(r), greater(0, first - first_pair));
  }
  /// The first row that reads this tile's pair j.
  int64_t first_reader(int64_t j) const {
    if (!read.causal) return 0;
    return smaller(rows, greater(0, first_pair + j + read.lag - first_query));
  }
  bool on_diagonal() const { return visible(0) < pairs; }

  /// -slope * (t - i) for row r and the tile's first pair.
  float bias(int64_t r) const {
    return read.slopes ? read.slopes[h] * static_cast<float>(first_pair - first_query - r) : 0.0f;
  }
};

}  // namespace tessera::ops::cpu::TESSERA_ISA
