#include "tessera/memo/detail/outer_products.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tessera/memo/cpu/correlation.h"
#include "tessera/memo/detail/byte_products.h"
#include "tessera/simd/threads.h"

namespace tessera::memo {
namespace {

std::vector<uint64_t> transposed(const SignRows& rows) {
  cpu::SignTranspose loop;
  loop.count = rows.count();
  loop.panels = rows.width / 64;
  loop.rows = rows.words.data();
  std::vector<uint64_t> columns(static_cast<size_t>((loop.count + 63) / 64 * rows.width));
  loop.columns = columns.data();
  cpu::sign_transpose(loop);
  return columns;
}

/// Moves from `values` to `part`, times sign, as much as a right factor may have. Returns whether
/// anything is left in `values`.
bool take_part(std::span<int8_t> values, int sign, std::span<int8_t> part) {
  int left = 0;
  for (size_t c = 0; c < values.size(); ++c) {
    const int taken = std::clamp<int>(values[c], -kRightLimit, kRightLimit);
    part[c] = static_cast<int8_t>(sign * taken);
    values[c] = static_cast<int8_t>(values[c] - taken);
    left |= values[c];
  }
  return left != 0;
}

using simd::kWorthThreads;

constexpr int64_t kFewQueries = 24;  // up to here a pass over the entries is faster than planes
constexpr int64_t kPlaneRows = 256;  // of the entries, split into planes at once

template <typename Entry>
int planes_for(const Entry* entries, int64_t count) {
  int64_t largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest) if (count >= kWorthThreads)
  for (int64_t i = 0; i < count; ++i)
    largest = std::max<int64_t>(largest, std::abs(int64_t{entries[i]}));
  int planes = 1;
  for (int64_t reach = 63; reach < largest; reach = 128 * reach + 63) ++planes;
  return planes;
}

const int32_t* in_32_bits(const int32_t* entries, int64_t, std::vector<int32_t>&) {
  return entries;
}
const int32_t* in_32_bits(const int16_t* entries, int64_t count, std::vector<int32_t>& widened) {
  widened.assign(entries, entries + count);
  return widened.data();
}

/// By products of bytes: one matrix for each digit of the entries.
template <typename Entry>
void read_by_planes(std::span<const int8_t> queries, const Entry* entries, int64_t K, int64_t D,
                    float* values) {
  const int64_t n = static_cast<int64_t>(queries.size()) / K, size = n * D;
  const int planes = planes_for(entries, K * D);
  std::vector<int8_t> digits(static_cast<size_t>(planes * kPlaneRows * D));
  std::vector<int32_t> sums(static_cast<size_t>(planes * size)), widened;
  for (int64_t row = 0; row < K; row += kPlaneRows) {
    const int64_t rows = std::min(kPlaneRows, K - row);
    cpu::digit_planes(
        {rows * D, planes, in_32_bits(entries + row * D, rows * D, widened), digits.data()});
    for (int p = 0; p < planes; ++p)
      multiply_bytes(n, D, rows, queries.data() + row, K,
                     &digits[static_cast<size_t>(p * rows * D)], D, row > 0,
                     &sums[static_cast<size_t>(p * size)], D);
  }
#pragma omp parallel for schedule(static) if (size >= kWorthThreads)
  for (int64_t i = 0; i < size; ++i) {
    double total = 0;  // exact below 2^53
    for (int p = planes - 1; p >= 0; --p)
      total = 128 * total + sums[static_cast<size_t>(p * size + i)];
    values[i] = static_cast<float>(total);
  }
}

}  // namespace

void add_outer_products(const SignRows& keys, const SignRows& values, int sign, int32_t* entries) {
  const auto key_columns = transposed(keys), value_columns = transposed(values);
  cpu::SignProducts loop;
  loop.pairs = keys.count();
  loop.row_panels = keys.width / 64;
  loop.column_panels = values.width / 64;
  loop.keys = key_columns.data();
  loop.values = value_columns.data();
  loop.sign = sign;
  loop.entries = entries;
  cpu::sign_products(loop);
}

void add_outer_products(std::span<const int8_t> keys, std::span<const int8_t> values, int64_t K,
                        int64_t D, int sign, int32_t* entries) {
  const int64_t n = static_cast<int64_t>(keys.size()) / K;
  std::vector<int8_t> rest(values.begin(), values.end()), part(values.size());
  for (bool more = true; more;) {
    more = take_part(rest, sign, part);
    add_transposed_product(K, D, n, keys.data(), K, part.data(), D, entries, D);
  }
}

template <typename Entry>
void read_outer_products(std::span<const int8_t> queries, const Entry* entries, int64_t K,
                         int64_t D, float* values) {
  const int64_t n = static_cast<int64_t>(queries.size()) / K;
  if (n > kFewQueries) return read_by_planes(queries, entries, K, D, values);
  cpu::CorrelationRead<Entry> loop;
  loop.queries = n;
  loop.rows = K;
  loop.columns = D;
  loop.keys = queries.data();
  loop.entries = entries;
  loop.values = values;
  if constexpr (sizeof(Entry) == sizeof(int16_t))
    cpu::short_correlation_read(loop);
  else
    cpu::correlation_read(loop);
}

template void read_outer_products(std::span<const int8_t>, const int16_t*, int64_t, int64_t,
                                  float*);
template void read_outer_products(std::span<const int8_t>, const int32_t*, int64_t, int64_t,
                                  float*);

}  // namespace tessera::memo
