#include "tessera/memo/exact_correlation_memory.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/memo/detail/allocate_matrix.h"
#include "tessera/memo/detail/outer_products.h"
#include "tessera/simd/threads.h"

namespace tessera::memo {
namespace {

using simd::kWorthThreads;

constexpr int64_t kMost32 = INT32_MAX;          // in magnitude
constexpr int64_t kLargestProduct = 128 * 128;  // of two 8-bit numbers
constexpr int64_t kLargestSize = 1 << 17;       // for sums of products of bytes to fit 32 bits
constexpr int64_t kMostPairs = 4096;            // of bytes, written at once

template <typename Entry>
double sum_of_squares(const Entry* entries, int64_t rows, int64_t columns) {
  std::vector<double> of_rows(rows);
#pragma omp parallel for schedule(static) if (rows * columns >= kWorthThreads)
  for (int64_t i = 0; i < rows; ++i) {
    double total = 0;
    for (int64_t j = 0; j < columns; ++j) {
      const double entry = entries[i * columns + j];
      total += entry * entry;
    }
    of_rows[i] = total;
  }
  return std::accumulate(of_rows.begin(), of_rows.end(), 0.0);
}

/// Modulo 2^64 where a file from elsewhere has entries that no pairs give.
template <typename Entry, typename Added>
void add_entries(const Added* added, int64_t count, Entry* entries) {
  using Word = std::make_unsigned_t<Entry>;
#pragma omp parallel for schedule(static) if (count >= kWorthThreads)
  for (int64_t i = 0; i < count; ++i)
    entries[i] = static_cast<Entry>(static_cast<Word>(entries[i]) + static_cast<Word>(added[i]));
}

/// values [n, D] = queries [n, K] entries [K, D], for the rare memory with 64-bit entries.
void read_wide(std::span<const int8_t> queries, const int64_t* entries, int64_t rows,
               int64_t columns, float* values) {
  const int64_t count = std::ssize(queries) / rows;
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t n = 0; n < count; ++n)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;  // exact below 2^53
      for (int64_t i = 0; i < rows; ++i)
        sum += queries[n * rows + i] * static_cast<double>(entries[i * columns + j]);
      values[n * columns + j] = static_cast<float>(sum);
    }
}

}  // namespace

void ExactCorrelationMemory::check_size(int64_t rows, int64_t columns) {
  check_argument(rows >= 1 && columns >= 1 && rows <= kLargestSize && columns <= kLargestSize,
                 "ExactCorrelationMemory: {} x {} entries, expected 1 x 1 to {} x {}", rows,
                 columns, kLargestSize, kLargestSize);
}

ExactCorrelationMemory::ExactCorrelationMemory(int64_t rows, int64_t columns)
    : rows_(rows), columns_(columns) {
  check_size(rows, columns);
  entries_ = allocate_matrix(size() * 4);
  std::memset(entries_.get(), 0, size() * 4);
}

ExactCorrelationMemory::ExactCorrelationMemory(int64_t rows, int64_t columns, int bits,
                                               std::shared_ptr<std::byte> entries)
    : rows_(rows),
      columns_(columns),
      held_(bits),
      entries_(std::move(entries)),
      largest_(kMost32) {}

ExactCorrelationMemory ExactCorrelationMemory::from_bytes(int64_t rows, int64_t columns, int bits,
                                                          std::span<const std::byte> bytes) {
  check_size(rows, columns);
  check_argument(bits == 32 || bits == 64,
                 "ExactCorrelationMemory: entries of {} bits, expected 32 or 64", bits);
  const int64_t expected = rows * columns * bits / 8;
  check_argument(std::ssize(bytes) == expected,
                 "ExactCorrelationMemory: {} bytes, expected {} for {} x {} entries of {} bits",
                 bytes.size(), expected, rows, columns, bits);
  ExactCorrelationMemory memory(rows, columns, bits, allocate_matrix(expected));
  std::ranges::copy(bytes, memory.entries_.get());
  return memory;
}

ExactCorrelationMemory::ExactCorrelationMemory(const ExactCorrelationMemory& other)
    : rows_(other.rows_),
      columns_(other.columns_),
      held_(other.held_),
      entries_(allocate_matrix(size() * held_ / 8)),
      largest_(other.largest_) {
  std::copy_n(other.entries_.get(), size() * held_ / 8, entries_.get());
}

ExactCorrelationMemory& ExactCorrelationMemory::operator=(const ExactCorrelationMemory& other) {
  return *this = ExactCorrelationMemory(other);
}

void ExactCorrelationMemory::edit(Edit edit, std::span<const int8_t> keys,
                                  std::span<const int8_t> values) {
  const auto count = std::ssize(keys) / rows_;
  check_argument(std::ssize(keys) == count * rows_ && std::ssize(values) == count * columns_,
                 "ExactCorrelationMemory: {} numbers of keys and {} of values do not make as many "
                 "rows of {} as of {}",
                 keys.size(), values.size(), rows_, columns_);
  const int sign = edit == Edit::kStore ? 1 : -1;
  for (int64_t first = 0; first < count; first += kMostPairs) {
    const int64_t pairs = std::min(kMostPairs, count - first);
    const auto some_keys = keys.subspan(first * rows_, pairs * rows_);
    const auto some_values = values.subspan(first * columns_, pairs * columns_);
    reserve(pairs * kLargestProduct);
    add_narrow([&](int32_t* entries) {
      add_outer_products(some_keys, some_values, rows_, columns_, sign, entries);
    });
  }
}

void ExactCorrelationMemory::edit(Edit edit, const SignRows& keys, const SignRows& values) {
  check_argument(
      keys.width == rows_ && values.width == columns_ && keys.whole() && values.whole() &&
          keys.count() == values.count(),
      "ExactCorrelationMemory: keys are {} rows of {} signs, values {} rows of {}; for a memory of "
      "{} x {} both need these widths and equally many rows",
      keys.count(), keys.width, values.count(), values.width, rows_, columns_);
  if (keys.count() == 0) return;
  reserve(keys.count());
  const int sign = edit == Edit::kStore ? 1 : -1;
  add_narrow([&](int32_t* entries) { add_outer_products(keys, values, sign, entries); });
}

template <typename Add>
void ExactCorrelationMemory::add_narrow(const Add& add) {
  if (held_ == 32) return add(entries<int32_t>());
  std::vector<int32_t> change(size());
  add(change.data());
  add_entries(change.data(), size(), entries<int64_t>());
  settle();
}

void ExactCorrelationMemory::merge(const ExactCorrelationMemory& other) {
  check_argument(rows_ == other.rows_ && columns_ == other.columns_,
                 "ExactCorrelationMemory: {} x {} entries cannot be merged with {} x {}", rows_,
                 columns_, other.rows_, other.columns_);
  reserve(other.largest_entry());
  other.with_numbers([&](auto added) {
    if (held_ == 32)
      add_entries(added.data(), size(), entries<int32_t>());
    else
      add_entries(added.data(), size(), entries<int64_t>());
  });
  settle();
}

template <typename Entry>
void ExactCorrelationMemory::hold_in() {
  std::shared_ptr<std::byte> held = allocate_matrix(size() * sizeof(Entry));
  with_numbers(
      [&](auto numbers) { std::ranges::copy(numbers, reinterpret_cast<Entry*>(held.get())); });
  entries_ = std::move(held);
  held_ = 8 * sizeof(Entry);
}

void ExactCorrelationMemory::reserve(int64_t change) {
  if (held_ == 64) return;
  if (largest_ > kMost32 - change) largest_ = largest_entry();
  if (largest_ > kMost32 - change) return hold_in<int64_t>();
  if (held_ == 16) hold_in<int32_t>();
  largest_ += change;
}

void ExactCorrelationMemory::settle() {
  if (held_ == 32) return;
  largest_ = largest_entry();
  if (largest_ <= kMost32) hold_in<int32_t>();
}

int64_t ExactCorrelationMemory::largest_entry() const {
  return with_numbers([&](auto numbers) { return largest_magnitude(numbers); });
}

int64_t ExactCorrelationMemory::entry(int64_t row, int64_t column) const {
  check_argument(row >= 0 && row < rows_ && column >= 0 && column < columns_,
                 "ExactCorrelationMemory: entry ({}, {}) of {} x {}", row, column, rows_, columns_);
  return with_numbers([&](auto numbers) -> int64_t { return numbers[row * columns_ + column]; });
}

std::vector<std::byte> ExactCorrelationMemory::bytes(int64_t first, int64_t rows) const {
  check_argument(first >= 0 && rows >= 0 && first <= rows_ && rows <= rows_ - first,
                 "ExactCorrelationMemory: {} rows from row {} of {} x {}", rows, first, rows_,
                 columns_);
  const size_t count = rows * columns_;
  std::vector<std::byte> bytes(count * bits() / 8);
  with_numbers([&](auto numbers) {
    const auto part = numbers.subspan(first * columns_, count);
    if (bits() == 32)
      std::ranges::copy(part, reinterpret_cast<int32_t*>(bytes.data()));
    else
      std::ranges::copy(part, reinterpret_cast<int64_t*>(bytes.data()));
  });
  return bytes;
}

double ExactCorrelationMemory::energy() const {
  const double total =
      with_numbers([&](auto numbers) { return sum_of_squares(numbers.data(), rows_, columns_); });
  return total / static_cast<double>(size());
}

void ExactCorrelationMemory::retrieve(std::span<const int8_t> queries,
                                      std::span<float> values) const {
  const auto count = std::ssize(queries) / rows_;
  check_argument(std::ssize(queries) == count * rows_ && std::ssize(values) == count * columns_,
                 "ExactCorrelationMemory: {} numbers of queries and {} of values do not make as "
                 "many rows of {} as of {}",
                 queries.size(), values.size(), rows_, columns_);
  if (held_ == 16)
    read_outer_products(queries, entries<int16_t>(), rows_, columns_, values.data());
  else if (held_ == 32)
    read_outer_products(queries, entries<int32_t>(), rows_, columns_, values.data());
  else
    read_wide(queries, entries<int64_t>(), rows_, columns_, values.data());
}

}  // namespace tessera::memo
