#include "tessera/memo/detail/token_table.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/memo/cpu/token_scores.h"
#include "tessera/memo/detail/allocate_matrix.h"
#include "tessera/simd/threads.h"

namespace tessera::memo {
namespace {

constexpr double kScale = 2;
constexpr int kLimit = 7;
constexpr int64_t kGroup = cpu::kNibbleGroup, kHalf = kGroup / 2;

/// numbers [width] as half bytes [width / 2].
void pack(const int8_t* numbers, int64_t width, uint8_t* bytes) {
  for (int64_t group = 0; group < width; group += kGroup)
    for (int64_t b = 0; b < kHalf; ++b) {
      const int low = numbers[group + b] + cpu::kNibbleShift;
      const int high = numbers[group + kHalf + b] + cpu::kNibbleShift;
      bytes[group / 2 + b] = static_cast<uint8_t>(low | high << 4);
    }
}

/// Writes v as whole numbers within +-127; returns the scale that restores v.
float round_to_bytes(const float* v, int64_t count, int8_t* numbers) {
  float largest = 0;
  for (int64_t c = 0; c < count; ++c) largest = std::max(largest, std::abs(v[c]));
  if (largest == 0) {
    std::fill_n(numbers, count, int8_t{0});
    return 0;
  }
  const float scale = 127 / largest;
  for (int64_t c = 0; c < count; ++c) numbers[c] = static_cast<int8_t>(std::lrintf(v[c] * scale));
  return 1 / scale;
}

}  // namespace

RoundedNormal::RoundedNormal(double scale, int limit) : table_(1 << 16) {
  // Numbers below `value` take the first 2^16 Phi((value - 1/2) / scale) places.
  size_t place = 0;
  double squares = 0;
  for (int value = -limit; value <= limit; ++value) {
    const double upper = (value + 0.5) / (scale * std::numbers::sqrt2);
    const auto end = value == limit ? table_.size()
                                    : static_cast<size_t>(std::lround(32768 * std::erfc(-upper)));
    for (; place < end; ++place) {
      table_[place] = static_cast<int8_t>(value);
      squares += value * value;
    }
  }
  deviation_ = std::sqrt(squares / static_cast<double>(table_.size()));
}

void RoundedNormal::draw(uint64_t seed, uint64_t stream, int64_t first, int64_t count,
                         int8_t* numbers) const {
  const Philox philox(seed, stream);
  for (int64_t n = 0; n < count; n += 8) {
    const auto words = philox.block((first + n) / 8);
    for (int64_t half = 0; half < 8 && n + half < count; ++half)
      numbers[n + half] = table_[words[half / 2] >> (16 * (half % 2)) & 0xffff];
  }
}

TokenTable::TokenTable(int64_t vocabulary, int64_t dimension, uint64_t seed, uint64_t stream)
    : vocabulary_(vocabulary),
      dimension_(dimension),
      width_((dimension + kGroup - 1) / kGroup * kGroup),
      law_(kScale, kLimit) {
  rows_ = std::reinterpret_pointer_cast<uint8_t>(allocate_matrix(vocabulary * width_ / 2));
  const int threads = simd::region_threads();
  std::vector<int8_t> numbers(threads * width_, 0);  // one row a thread
#pragma omp parallel num_threads(threads)
  {
    int8_t* const row = numbers.data() + omp_get_thread_num() * width_;
#pragma omp for schedule(static)
    for (int64_t token = 0; token < vocabulary; ++token) {
      law_.draw(seed, stream, token * dimension, dimension, row);
      pack(row, width_, rows_.get() + token * width_ / 2);
    }
  }
}

void TokenTable::copy_row(int32_t token, int8_t* row) const {
  const uint8_t* bytes = rows_.get() + token * width_ / 2;
  for (int64_t c = 0; c < dimension_; c += kGroup, bytes += kHalf) {
    for (int64_t b = 0; b < kHalf; ++b)
      row[c + b] = static_cast<int8_t>((bytes[b] & 15) - cpu::kNibbleShift);
    if (c + kHalf == dimension_) return;  // half a group is padding
    for (int64_t b = 0; b < kHalf; ++b)
      row[c + kHalf + b] = static_cast<int8_t>((bytes[b] >> 4) - cpu::kNibbleShift);
  }
}

void TokenTable::score(std::span<const float> values, float scale,
                       std::span<float* const> scores) const {
  const auto count = std::ssize(scores);
  std::vector<int8_t> numbers(count * width_, 0);
  std::vector<float> scales;
  std::vector<int32_t> sums;
  for (int64_t n = 0; n < count; ++n) {
    int8_t* row = &numbers[n * width_];
    const float* value = &values[n * dimension_];
    scales.push_back(scale * round_to_bytes(value, dimension_, row));
    sums.push_back(std::accumulate(row, row + dimension_, 0));
  }
  cpu::nibble_products({.queries = count,
                        .rows = vocabulary_,
                        .width = width_,
                        .numbers = numbers.data(),
                        .sums = sums.data(),
                        .scales = scales.data(),
                        .table = rows_.get(),
                        .products = scores.data()});
}

}  // namespace tessera::memo
