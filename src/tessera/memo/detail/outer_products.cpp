#include "tessera/memo/detail/outer_products.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <vector>

#include "tessera/memo/cpu/correlation.h"
#include "tessera/simd/threads.h"

namespace tessera::memo {
namespace {

/// oneDNN multiplies bytes exactly on x86-64 alone: elsewhere its sums pass through float32, which
/// holds no more than 24 bits. And for a single column it swaps the factors, so that the limit
/// would apply to the left one.
bool is_exact_in_onednn([[maybe_unused]] int64_t columns) {
#ifdef __x86_64__
  return columns > 1;
#else
  return false;
#endif
}

/// The same by loops. Element (i, s) of `a` is a[i * row_step + s * step].
void multiply_by_loops(int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t row_step,
                       int64_t step, const int8_t* b, int64_t ldb, bool add, int32_t* c,
                       int64_t ldc) {
  for (int64_t i = 0; i < m; ++i) {
    int32_t* __restrict sums = c + i * ldc;
    if (!add) std::fill_n(sums, n, 0);
    for (int64_t s = 0; s < k; ++s) {
      const int32_t factor = a[i * row_step + s * step];
      const int8_t* __restrict row = b + s * ldb;
      for (int64_t j = 0; j < n; ++j) sums[j] += factor * row[j];
    }
  }
}

void multiply(bool transpose_a, int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t lda,
              const int8_t* b, int64_t ldb, bool add, int32_t* c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0 || !is_exact_in_onednn(n))
    return multiply_by_loops(m, n, k, a, transpose_a ? 1 : lda, transpose_a ? lda : 1, b, ldb, add,
                             c, ldc);
  const int32_t no_offset = 0;
  const auto status = dnnl_gemm_s8s8s32(transpose_a ? 'T' : 'N', 'N', 'F', m, n, k, 1.0f, a, lda, 0,
                                        b, ldb, 0, add ? 1.0f : 0.0f, c, ldc, &no_offset);
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  if (status != dnnl_success) throw std::logic_error("multiply_bytes: refused by oneDNN");
}

}  // namespace

void multiply_bytes(int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t lda, const int8_t* b,
                    int64_t ldb, bool add, int32_t* c, int64_t ldc) {
  multiply(false, m, n, k, a, lda, b, ldb, add, c, ldc);
}

void add_transposed_product(int64_t m, int64_t n, int64_t k, const int8_t* a, int64_t lda,
                            const int8_t* b, int64_t ldb, int32_t* c, int64_t ldc) {
  multiply(true, m, n, k, a, lda, b, ldb, true, c, ldc);
}

namespace {

std::vector<uint64_t> transposed(const SignRows& rows) {
  std::vector<uint64_t> columns((rows.count() + 63) / 64 * rows.width);
  cpu::sign_transpose({rows.count(), rows.width / 64, rows.words.data(), columns.data()});
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
  const int64_t largest = largest_magnitude(std::span(entries, count));
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
  const int64_t n = std::ssize(queries) / K, size = n * D;
  const int planes = planes_for(entries, K * D);
  std::vector<int8_t> digits(planes * kPlaneRows * D);
  std::vector<int32_t> sums(planes * size), widened;
  for (int64_t row = 0; row < K; row += kPlaneRows) {
    const int64_t rows = std::min(kPlaneRows, K - row);
    cpu::digit_planes(
        {rows * D, planes, in_32_bits(entries + row * D, rows * D, widened), digits.data()});
    for (int p = 0; p < planes; ++p)
      multiply_bytes(n, D, rows, queries.data() + row, K, &digits[p * rows * D], D, row > 0,
                     &sums[p * size], D);
  }
#pragma omp parallel for schedule(static) if (size >= kWorthThreads)
  for (int64_t i = 0; i < size; ++i) {
    double total = 0;  // exact below 2^53
    for (int p = planes - 1; p >= 0; --p) total = 128 * total + sums[p * size + i];
    values[i] = static_cast<float>(total);
  }
}

}  // namespace

void add_outer_products(const SignRows& keys, const SignRows& values, int sign, int32_t* entries) {
  const auto key_columns = transposed(keys), value_columns = transposed(values);
  cpu::sign_products({.pairs = keys.count(),
                      .row_panels = keys.width / 64,
                      .column_panels = values.width / 64,
                      .keys = key_columns.data(),
                      .values = value_columns.data(),
                      .sign = sign,
                      .entries = entries});
}

void add_outer_products(std::span<const int8_t> keys, std::span<const int8_t> values, int64_t K,
                        int64_t D, int sign, int32_t* entries) {
  const int64_t n = std::ssize(keys) / K;
  std::vector<int8_t> rest(values.begin(), values.end()), part(values.size());
  for (bool more = true; more;) {
    more = take_part(rest, sign, part);
    add_transposed_product(K, D, n, keys.data(), K, part.data(), D, entries, D);
  }
}

template <typename Entry>
void read_outer_products(std::span<const int8_t> queries, const Entry* entries, int64_t K,
                         int64_t D, float* values) {
  const int64_t n = std::ssize(queries) / K;
  if (n > kFewQueries) return read_by_planes(queries, entries, K, D, values);
  const cpu::CorrelationRead<Entry> loop = {n, K, D, queries.data(), entries, values};
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
