#include "tessera/memo/cpu/token_scores.h"

#include <cstring>

#include "tessera/simd/integer_vector.h"
#include "tessera/simd/threads.h"
#include "tessera/simd/vector.h"

namespace tessera::memo::cpu::TESSERA_ISA {

using namespace simd::TESSERA_ISA;
namespace {

// Products with a table of nibbles.

constexpr int64_t kRows = 4;
constexpr int64_t kQueries = TESSERA_VECTOR_BYTES == 64 ? 4 : 2;  // whose sums stay in registers
constexpr int64_t kBlockBytes = 16384;
constexpr int64_t kGroupBytes = kNibbleGroup / 2;

/// A choice of lanes for __builtin_shuffle: lane -> lane_of(lane), known to the compiler.
struct Lanes {
  alignas(64) int32_t of[kLanes];

  template <typename LaneOf>
  explicit constexpr Lanes(LaneOf lane_of) : of{} {
    for (int lane = 0; lane < kLanes; ++lane) of[lane] = lane_of(lane);
  }
  operator Integers() const { return *reinterpret_cast<const UnalignedIntegers*>(of); }
};

/// Of neighbours `step` lanes apart the sums: those of a where lane & step is 0, those of b
/// elsewhere.
template <int step>
Integers add_neighbours(Integers a, Integers b) {
  static constexpr Lanes left([](int lane) {
    return ((lane & step) != 0 ? static_cast<int>(kLanes) : 0) + (lane & ~step);
  });
  static constexpr Lanes right(
      [](int lane) { return ((lane & step) != 0 ? static_cast<int>(kLanes) : 0) + (lane | step); });
  return __builtin_shuffle(a, b, Integers(left)) + __builtin_shuffle(a, b, Integers(right));
}

template <int reach>
Integers add_distant(Integers sums) {
  static constexpr Lanes other([](int lane) { return lane ^ reach; });
  if constexpr (reach >= kLanes)
    return sums;
  else
    return add_distant<2 * reach>(sums + __builtin_shuffle(sums, Integers(other)));
}

/// The sums over the lanes of four vectors, in the first four lanes.
Integers add_lanes(const Integers (&sums)[kRows]) {
  return add_distant<kRows>(
      add_neighbours<2>(add_neighbours<1>(sums[0], sums[1]), add_neighbours<1>(sums[2], sums[3])));
}

/// `queries` queries from `query` on by kRows rows of the table, of which `rows` exist.
template <int64_t queries>
void multiply_tile(const NibbleProducts& f, int64_t query, int64_t row, int64_t rows) {
  const uint8_t* table[kRows];
  for (int64_t r = 0; r < kRows; ++r)
    table[r] = f.table + (row + smaller(r, rows - 1)) * (f.width / 2);
  Integers sums[queries][kRows] = {};
  for (int64_t byte = 0; byte < f.width / 2; byte += TESSERA_VECTOR_BYTES) {
    // Numbers 128 g + b and, one half of a group further, 128 g + 64 + b.
    const int64_t place = byte / kGroupBytes * kNibbleGroup + byte % kGroupBytes;
    Bytes low[kRows], high[kRows];
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) {
      const Bytes both = load_bytes(table[r] + byte);
      __builtin_prefetch(table[r] + byte + kRows * (f.width / 2));
      low[r] = both & 15;
      high[r] = reinterpret_cast<Bytes>(reinterpret_cast<Words>(both) >> 4) & 15;
    }
#pragma GCC unroll 4
    for (int64_t q = 0; q < queries; ++q) {
      const auto* numbers =
          reinterpret_cast<const uint8_t*>(f.numbers + (query + q) * f.width + place);
      const Bytes first = load_bytes(numbers), second = load_bytes(numbers + kGroupBytes);
#pragma GCC unroll 4
      for (int64_t r = 0; r < kRows; ++r)
        sums[q][r] = add_products(add_products(sums[q][r], low[r], first), high[r], second);
    }
  }
#pragma GCC unroll 4
  for (int64_t q = 0; q < queries; ++q) {
    const Vector products =
        f.scales[query + q] *
        __builtin_convertvector(add_lanes(sums[q]) - kNibbleShift * f.sums[query + q], Vector);
    float* place = f.products[query + q] + row;
    if (rows == kRows)
      std::memcpy(place, &products, kRows * sizeof(float));
    else
      for (int64_t r = 0; r < rows; ++r) place[r] = products[r];
  }
}

// Hadamard transforms.

constexpr int64_t kLargestBlock = 1024;

/// The sign bits of kLanes values: set where the mask has a one.
WordVector sign_bits(uint64_t mask) {
  const WordVector bit = 1u << reinterpret_cast<WordVector>(lane_numbers());
  const WordVector bits = static_cast<uint32_t>(mask) - WordVector{};
  return reinterpret_cast<WordVector>((bits & bit) != 0) & 0x80000000u;
}

/// sums [block] = the sum over the parts of mask o values.
void fold(const HadamardScores& f, const float* values, const uint64_t* mask, float* sums) {
  for (int64_t c = 0; c < f.block; c += kLanes) {
    Vector sum{};
    for (int64_t part = c; part < f.width; part += f.block) {
      const WordVector signs = sign_bits(mask[part / 64] >> (part % 64));
      sum += reinterpret_cast<Vector>(reinterpret_cast<WordVector>(load(values + part)) ^ signs);
    }
    store(sums + c, sum);
  }
}

/// The steps of the transform whose partners lie in the same vector.
Vector transform_lanes(Vector x) {
  const Integers lane = lane_numbers();
#pragma GCC unroll 4
  for (int reach = 1; reach < kLanes; reach *= 2) {
    const WordVector minus = reinterpret_cast<WordVector>((lane & reach) != 0) & 0x80000000u;
    x = __builtin_shuffle(x, lane ^ reach) +
        reinterpret_cast<Vector>(reinterpret_cast<WordVector>(x) ^ minus);
  }
  return x;
}

/// sums [size] becomes H sums: two steps at a time.
void transform(float* sums, int64_t size) {
  for (int64_t c = 0; c < size; c += kLanes) store(sums + c, transform_lanes(load(sums + c)));
  int64_t reach = kLanes;
  for (; 2 * reach < size; reach *= 4)
    for (int64_t first = 0; first < size; first += 4 * reach)
      for (int64_t c = first; c < first + reach; c += kLanes) {
        const Vector a = load(sums + c), b = load(sums + c + reach);
        const Vector x = load(sums + c + 2 * reach), y = load(sums + c + 3 * reach);
        store(sums + c, (a + b) + (x + y));
        store(sums + c + reach, (a - b) + (x - y));
        store(sums + c + 2 * reach, (a + b) - (x + y));
        store(sums + c + 3 * reach, (a - b) - (x - y));
      }
  if (reach < size)
    for (int64_t c = 0; c < reach; c += kLanes) {
      const Vector a = load(sums + c), b = load(sums + c + reach);
      store(sums + c, a + b);
      store(sums + c + reach, a - b);
    }
}

}  // namespace

void nibble_products(const NibbleProducts& f) {
  // Rows of a block stay in the first-level cache while all queries pass.
  const int64_t block = kBlockBytes / (f.width / 2) / kRows * kRows + kRows;
#pragma omp parallel for schedule(static) if (f.rows * f.width >= simd::kWorthThreads)
  for (int64_t first = 0; first < f.rows; first += block) {
    const int64_t end = smaller(first + block, f.rows);
    for (int64_t query = 0; query < f.queries; query += kQueries)
      with_constant<kQueries>(smaller(kQueries, f.queries - query), [&](auto queries) {
        for (int64_t row = first; row < end; row += kRows)
          multiply_tile<queries>(f, query, row, smaller(kRows, end - row));
      });
  }
}

void hadamard_scores(const HadamardScores& f) {
  const int64_t blocks = (f.tokens + f.block - 1) / f.block;
#pragma omp parallel for collapse(2) schedule(static) if (f.count * f.tokens >= simd::kWorthThreads)
  for (int64_t n = 0; n < f.count; ++n)
    for (int64_t b = 0; b < blocks; ++b) {
      alignas(64) float sums[kLargestBlock];
      fold(f, f.values + n * f.width, f.masks + b * (f.width / 64), sums);
      transform(sums, f.block);
      float* scores = f.scores[n] + b * f.block;
      const int64_t count = smaller(f.block, f.tokens - b * f.block);
      for (int64_t j = 0; j < count; ++j) scores[j] = f.scale * sums[j];
    }
}

}  // namespace tessera::memo::cpu::TESSERA_ISA
