#include "tessera/ops/cpu/int8/int8_products.h"

#include <omp.h>

#include <cstring>

#include "tessera/ops/cpu/dot_products.h"
#include "tessera/ops/cpu/load_weights.h"
#include "tessera/simd/integer_vector.h"
#include "tessera/simd/threads.h"
#ifdef TESSERA_AMX
#include "tessera/simd/tile_unit.h"
#endif

namespace tessera::ops::cpu::TESSERA_ISA {
namespace {

/// Whole numbers in a vector, and scales beside each vector of them.
constexpr int64_t kChunk = TESSERA_VECTOR_BYTES;
constexpr int64_t kQuads = kWeightBlock / 4;

int64_t row_bytes(const Products& f) {
  return int8_row_bytes(f.inputs);
}
/// The weights of an output.
const int8_t* row_of(const Products& f, int64_t output) {
  return f.weight.as<int8_t>() + output * row_bytes(f);
}
const uint16_t* scales_of(const Products& f, const int8_t* row) {
  return reinterpret_cast<const uint16_t*>(row + f.rounded.blocks() * kWeightBlock);
}

/// The first `count` bytes, zeros after them.
Bytes load_bytes_part(const int8_t* p, int64_t count) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(p);
  if (count >= kChunk) return load_bytes(bytes);
  uint8_t part[kChunk] = {};
  for (int64_t k = 0; k < count; ++k) part[k] = bytes[k];
  return load_bytes(part);
}

Vector as_floats(Integers sums) {
  return __builtin_convertvector(sums, Vector);
}

// Rounding of vectors.

Vector magnitude(Vector v) {
  return v < Vector{} ? -v : v;
}

typedef int8_t NarrowVector __attribute__((vector_size(kLanes), may_alias));

/// A block of `count` numbers from x on; zeros behind them.
void round_block(const float* x, int64_t count, int8_t* values, float* scale) {
  constexpr float kLeast = 1e-35f;       // 127 / kLeast is still a float
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  constexpr int64_t kVectors = kWeightBlock / kLanes;
  Vector parts[kVectors], most{}, not_finite{};
  for (int64_t k = 0; k < kVectors; ++k) {
    parts[k] = load_part(x + k * kLanes, count - k * kLanes);
    most = larger(most, magnitude(parts[k]));
    not_finite += parts[k] * 0.0f;  // what is NaN or infinite must not be lost
  }
  const float greatest = largest(most);
  const float factor = greatest > kLeast ? 127 / greatest : 0;
  *scale = greatest / 127 + sum(not_finite);
  for (int64_t k = 0; k < kVectors; ++k) {
    const Vector shifted = parts[k] * factor + kRound;
    const Integers rounded =
        reinterpret_cast<Integers>(shifted) - reinterpret_cast<Integers>(fill(kRound));
    *reinterpret_cast<NarrowVector*>(values + k * kLanes) =
        __builtin_convertvector(rounded, NarrowVector);
  }
}

// Weights in the form that the instruction for products of bytes wants.

#ifdef __AVX512VNNI__
/// What is added to the weights, so that they have no sign, as the instruction wants it.
constexpr int32_t kOffset = 128;
Bytes without_sign(Bytes weights) {
  return weights ^ static_cast<uint8_t>(kOffset);
}
Integers add_weighted(Integers sums, Bytes weights, Bytes x) {
  return add_products(sums, weights, x);
}
#else
constexpr int32_t kOffset = 0;
Bytes without_sign(Bytes weights) {
  return weights;
}
Integers add_weighted(Integers sums, Bytes weights, Bytes x) {
  return add_signed_products(sums, weights, x);
}
#endif

// A few vectors: products along the rows as they lie in memory.

/// Of a vector of kLanes scales, those of the lanes of chunk `chunk`.
Vector spread(Vector scales, int64_t chunk) {
  const Integers block = lane_numbers() / static_cast<int32_t>(kQuads) +
                         static_cast<int32_t>(chunk * kChunk / kWeightBlock);
  return __builtin_shuffle(scales, block);
}

/// What the sums of products with a chunk of a vector begin with, for weights without a sign.
Integers offsets_of(Bytes x) {
  return kOffset == 0 ? Integers{} : -add_weighted(Integers{}, Bytes{} + uint8_t{kOffset}, x);
}

/// sums[i * kLanes + r]: rounded vector v + i times row r of some weights, lane by lane. Several
/// rows side by side are more streams than a processor foresees: those after them are fetched.
template <int vectors, int rows>
void lane_products(const Products& f, int64_t v, const int8_t* row, Vector* sums) {
  const int64_t blocks = f.rounded.blocks(), pitch = row_bytes(f);
  const int8_t* x = f.rounded.values + v * blocks * kWeightBlock;
  auto ahead = reinterpret_cast<uintptr_t>(row + rows * pitch);
  Vector totals[rows][vectors] = {}, scales[rows][vectors];
  const auto add_chunk = [&](int64_t k, int64_t chunk, auto load_at) {
    Bytes factors[vectors];
    Integers offsets[vectors];
    for (int i = 0; i < vectors; ++i) {
      factors[i] = load_at(x + i * blocks * kWeightBlock + k);
      offsets[i] = offsets_of(factors[i]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      if constexpr (rows == 1) {
        fetch_ahead(row + k);
      } else {
        __builtin_prefetch(reinterpret_cast<const void*>(ahead), 0, 2);
        ahead += kChunk;
      }
      const Bytes weights = without_sign(load_at(row + r * pitch + k));
#pragma GCC unroll 4
      for (int i = 0; i < vectors; ++i)
        totals[r][i] +=
            as_floats(add_weighted(offsets[i], weights, factors[i])) * spread(scales[r][i], chunk);
    }
  };
  for (int64_t b = 0; b < blocks; b += kLanes) {
    const int64_t count = smaller(kLanes, blocks - b), length = count * kWeightBlock;
    for (int r = 0; r < rows; ++r) {
      const Vector of_row = load_part(scales_of(f, row + r * pitch) + b, count);
      for (int i = 0; i < vectors; ++i)
        scales[r][i] = of_row * load_part(f.rounded.scales + (v + i) * blocks + b, count);
    }
    int64_t k = 0, chunk = 0;
    for (; k + kChunk <= length; k += kChunk, ++chunk)
      add_chunk(b * kWeightBlock + k, chunk,
                [](const int8_t* p) { return load_bytes(reinterpret_cast<const uint8_t*>(p)); });
    if (k < length)
      add_chunk(b * kWeightBlock + k, chunk,
                [rest = length - k](const int8_t* p) { return load_bytes_part(p, rest); });
  }
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < vectors; ++i) sums[i * kLanes + r] = totals[r][i];
}

/// `count` <= kLanes outputs from o on, of vectors from v on.
template <int vectors>
void multiply_columns(const Products& f, int64_t v, int64_t o, int64_t count) {
  constexpr int kRows = vectors == 1 ? 1 : 4;  // one vector waits for the rows alone: one stream
  Vector totals[vectors * kLanes];
  if (count < kLanes) std::memset(totals, 0, sizeof totals);
  int64_t r = 0;
  for (; r + kRows <= count; r += kRows)
    lane_products<vectors, kRows>(f, v, row_of(f, o + r), totals + r);
  for (; r < count; ++r) lane_products<vectors, 1>(f, v, row_of(f, o + r), totals + r);
  for (int i = 0; i < vectors; ++i) {
    Vector y = sum_each<kLanes>(totals + i * kLanes);
    if (f.bias) y += load_part(f.bias + o, count);
    store_part(f.y + (v + i) * f.outputs + o, y, count);
  }
}

// Many vectors: tiles of results, one lane for each output.

constexpr int kVectorsOfPanel = 2;
constexpr int64_t kPanelOutputs = kVectorsOfPanel * kLanes;

#ifdef TESSERA_AMX
/// Vectors whose results with a panel are computed together: those of a tile.
constexpr int kTileRows = simd::TESSERA_ISA::kRowsOfTile;
/// What is added to a panel's weights: nothing, the tile unit multiplies signed bytes.
constexpr int32_t kOffsetOfPanel = 0;
#else
/// Vectors whose results with a panel are computed together: these fill the registers.
constexpr int kTileRows = TESSERA_VECTOR_BYTES == 64 ? 6 : 2;
/// What is added to a panel's weights.
constexpr int32_t kOffsetOfPanel = kOffset;
#endif

/// The weights of kPanelOutputs outputs in the order in which a tile takes them.
struct Panel {
  Bytes* quads;    // [blocks, kQuads, kVectorsOfPanel]: four columns of kLanes outputs
  Vector* scales;  // [blocks, kVectorsOfPanel]

  Panel(simd::Scratch& scratch, int64_t blocks)
      : quads(reinterpret_cast<Bytes*>(
            scratch.floats(round_up(blocks, kChunk / kWeightBlock) * kQuads * kPanelOutputs))),
        scales(reinterpret_cast<Vector*>(scratch.floats(blocks * kPanelOutputs))) {}

  /// Outputs [first, first + kPanelOutputs), zeros behind the last.
  void pack(const Products& f, int64_t first) const {
    const int64_t bytes = f.rounded.blocks() * kWeightBlock;
    for (int v = 0; v < kVectorsOfPanel; ++v) {
      const int64_t output = first + v * kLanes, count = smaller(kLanes, f.outputs - output);
      const int8_t* rows = row_of(f, output);
      for (int64_t k = 0; k < bytes; k += kChunk) {
        Vector block[kLanes] = {};
        for (int64_t r = 0; r < count; ++r)
          block[r] =
              reinterpret_cast<Vector>(load_bytes_part(rows + r * row_bytes(f) + k, bytes - k));
        transpose(block);
        for (int64_t quad = 0; quad < kLanes; ++quad)
          quads[(k / 4 + quad) * kVectorsOfPanel + v] =
              reinterpret_cast<Bytes>(block[quad]) ^ static_cast<uint8_t>(kOffsetOfPanel);
      }
      for (int64_t b = 0; b < f.rounded.blocks(); ++b) {
        uint16_t column[kLanes] = {};
        for (int64_t r = 0; r < count; ++r) column[r] = scales_of(f, rows + r * row_bytes(f))[b];
        scales[b * kVectorsOfPanel + v] = load(column);
      }
    }
  }
};

/// Adds the bias and stores a vector's results with kLanes outputs of the panel.
void store_results(const Products& f, int64_t r, int64_t output, Vector results) {
  const int64_t count = smaller(kLanes, f.outputs - output);
  if (f.bias) results += load_part(f.bias + output, count);
  store_part(f.y + r * f.outputs + output, results, count);
}

#ifdef TESSERA_AMX

/// Results of vectors [r, r + kTileRows) and the panel's outputs.
void multiply_tile(const Products& f, const Panel& panel, int64_t r, int64_t first) {
  const int64_t blocks = f.rounded.blocks();
  const float* x_scales = f.rounded.scales + r * blocks;
  for (int v = 0; v < kVectorsOfPanel; ++v) {
    Integers sums[2][kTileRows];  // of a block, and of the next one, multiplied ahead of its turn
    const auto multiply_block = [&](int64_t b) {
      order_memory();
      _tile_loadd(1, f.rounded.values + (r * blocks + b) * kWeightBlock, blocks * kWeightBlock);
      _tile_loadd(2, panel.quads + b * kQuads * kVectorsOfPanel + v, kVectorsOfPanel * kChunk);
      _tile_zero(0);
      _tile_dpbssd(0, 1, 2);
      _tile_stored(0, sums[b % 2], kChunk);
      order_memory();
    };
    Vector totals[kTileRows] = {};
    multiply_block(0);
    for (int64_t b = 0; b < blocks; ++b) {
      if (b + 1 < blocks) multiply_block(b + 1);
      const Vector scales = panel.scales[b * kVectorsOfPanel + v];
#pragma GCC unroll 16
      for (int i = 0; i < kTileRows; ++i)
        totals[i] += as_floats(sums[b % 2][i]) * (scales * x_scales[i * blocks + b]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) store_results(f, r + i, first + v * kLanes, totals[i]);
  }
}

/// Results of all vectors, at least kTileRows: the last tile has some of the one before it, too.
void multiply_panel(const Products& f, const Panel& panel, const int32_t* /*offsets*/,
                    int64_t first) {
  // Sums of a block, its part of the vectors, and that of kLanes outputs' weights.
  const TileUnit tiles({{kTileRows, kChunk}, {kTileRows, kWeightBlock}, {kQuads, kChunk}});
  for (int64_t r = 0; r < f.rows; r += kTileRows)
    multiply_tile(f, panel, smaller(r, f.rows - kTileRows), first);
}

#else

/// Four bytes, again and again.
Bytes repeated(const int8_t* quad) {
  const int32_t number = *reinterpret_cast<const UnalignedInteger*>(quad);
  return reinterpret_cast<Bytes>(number - Integers{});
}

/// Results of vectors [r, r + rows) and the panel's outputs. offsets [.., blocks]: what the sums of
/// a block begin with.
template <int rows>
void multiply_tile(const Products& f, const Panel& panel, const int32_t* offsets, int64_t r,
                   int64_t first) {
  const int64_t blocks = f.rounded.blocks();
  Vector totals[rows][kVectorsOfPanel] = {};
  for (int64_t b = 0; b < blocks; ++b) {
    const int8_t* x = f.rounded.values + (r * blocks + b) * kWeightBlock;
    Integers sums[rows][kVectorsOfPanel];
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i)
      for (int v = 0; v < kVectorsOfPanel; ++v)
        sums[i][v] = offsets[(r + i) * blocks + b] - Integers{};
    for (int64_t quad = 0; quad < kQuads; ++quad) {
      const Bytes* weights = panel.quads + (b * kQuads + quad) * kVectorsOfPanel;
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) {
        const Bytes factors = repeated(x + i * blocks * kWeightBlock + quad * 4);
        for (int v = 0; v < kVectorsOfPanel; ++v)
          sums[i][v] = add_weighted(sums[i][v], weights[v], factors);
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i)
      for (int v = 0; v < kVectorsOfPanel; ++v)
        totals[i][v] += as_floats(sums[i][v]) * (panel.scales[b * kVectorsOfPanel + v] *
                                                 f.rounded.scales[(r + i) * blocks + b]);
  }
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < kVectorsOfPanel; ++v)
      store_results(f, r + i, first + v * kLanes, totals[i][v]);
}

/// Results of all vectors.
void multiply_panel(const Products& f, const Panel& panel, const int32_t* offsets, int64_t first) {
  int64_t r = 0;
  for (; r + kTileRows <= f.rows; r += kTileRows)
    multiply_tile<kTileRows>(f, panel, offsets, r, first);
  for (; r < f.rows; ++r) multiply_tile<1>(f, panel, offsets, r, first);
}

#endif

/// Rounds vector r of x.
void round_row(const float* x, const Int8Vectors& rounded, int64_t r) {
  const int64_t blocks = rounded.blocks();
  for (int64_t b = 0; b < blocks; ++b)
    round_block(x + r * rounded.length + b * kWeightBlock, rounded.length - b * kWeightBlock,
                rounded.values + (r * blocks + b) * kWeightBlock, rounded.scales + r * blocks + b);
}

/// -kOffsetOfPanel times the sum of each block of vector r.
void fill_offsets(const Int8Vectors& x, int64_t r, int32_t* offsets) {
  for (int64_t block = r * x.blocks(); block < (r + 1) * x.blocks(); ++block) {
    int32_t sum = 0;
    for (int64_t k = 0; k < kWeightBlock; ++k) sum += x.values[block * kWeightBlock + k];
    offsets[block] = -kOffsetOfPanel * sum;
  }
}

}  // namespace

void round_vectors(const Int8Rounding& f) {
  for (int64_t r = 0; r < f.rounded.rows; ++r) round_row(f.x, f.rounded, r);
}

void widen_weights(const Int8Widening& f) {
  const int64_t bytes = int8_row_bytes(f.columns);
  const int threads = simd::region_threads(f.rows * f.columns >= simd::kWorthThreadsOfReading);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t r = 0; r < f.rows; ++r)
    for (int64_t c = 0; c < f.columns; c += kLanes)
      store_part(f.floats + r * f.columns + c, load_weights(f.weight + r * bytes, c, f.columns),
                 f.columns - c);
}

void multiply_few(const SomeProducts& some) {
  const Products& f = some.products;
  constexpr int kTogether = TESSERA_VECTOR_BYTES == 64 ? 2 : 1;  // vectors, as registers allow
  for (int64_t o = some.first; o < some.end; o += kLanes) {
    const int64_t count = smaller(kLanes, some.end - o);
    int64_t v = 0;
    for (; v + kTogether <= f.rows; v += kTogether) multiply_columns<kTogether>(f, v, o, count);
    for (; v < f.rows; ++v) multiply_columns<1>(f, v, o, count);
  }
}

void multiply_many(const Products& f) {
  const int64_t blocks = f.rounded.blocks(),
                panels = (f.outputs + kPanelOutputs - 1) / kPanelOutputs;
  const int threads = simd::region_threads(f.rows * f.inputs * f.outputs >= simd::kWorthThreads);
  simd::Scratch size;
  const Panel sized(size, blocks);
  const simd::ThreadMemory shared(1, f.rows * blocks), memory(threads, size.size());
  auto* offsets = reinterpret_cast<int32_t*>(shared.of(0));
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static)
    for (int64_t r = 0; r < f.rows; ++r) {
      round_row(f.x, f.rounded, r);
      fill_offsets(f.rounded, r, offsets);
    }
#pragma omp for schedule(static)
    for (int64_t p = 0; p < panels; ++p) {
      simd::Scratch scratch(memory.of(omp_get_thread_num()));
      const Panel panel(scratch, blocks);
      panel.pack(f, p * kPanelOutputs);
      multiply_panel(f, panel, offsets, p * kPanelOutputs);
    }
  }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
