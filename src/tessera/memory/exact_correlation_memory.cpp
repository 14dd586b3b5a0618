#include "tessera/memory/exact_correlation_memory.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "tessera/base/error.h"

namespace tessera {
namespace {

constexpr int64_t kMost32 = INT32_MAX;          // in magnitude
constexpr int64_t kLargestProduct = 128 * 128;  // of two 8-bit numbers

std::shared_ptr<void> allocate(int64_t bytes) {
  const size_t whole = (static_cast<size_t>(bytes) + 63) / 64 * 64;
  void* memory = std::aligned_alloc(64, std::max<size_t>(64, whole));
  if (!memory) throw std::bad_alloc();
  return {memory, std::free};
}

template <typename Entry>
void add_products(Entry* entries, int64_t rows, int64_t columns, std::span<const int8_t> keys,
                  std::span<const int8_t> values, int sign) {
  const auto count = static_cast<int64_t>(keys.size()) / rows;
  for (int64_t pair = 0; pair < count; ++pair)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        entries[i * columns + j] +=
            sign * int{keys[pair * rows + i]} * int{values[pair * columns + j]};
}

std::vector<int8_t> unpacked(const SignRows& rows) {
  std::vector<int8_t> signs(rows.words.size() * 64);
  for (size_t c = 0; c < signs.size(); ++c)
    signs[c] = (rows.words[c / 64] >> (c % 64) & 1) != 0 ? -1 : 1;
  return signs;
}

template <typename Entry>
double sum_of_squares(const Entry* entries, int64_t rows, int64_t columns) {
  double total = 0;
  for (int64_t i = 0; i < rows; ++i) {
    double row_total = 0;
    for (int64_t j = 0; j < columns; ++j) {
      const auto entry = static_cast<double>(entries[i * columns + j]);
      row_total += entry * entry;
    }
    total += row_total;
  }
  return total;
}

}  // namespace

ExactCorrelationMemory::ExactCorrelationMemory(int64_t rows, int64_t columns)
    : rows_(rows), columns_(columns) {
  check_argument(rows > 0 && columns > 0,
                 "ExactCorrelationMemory: {} x {} entries, expected at least 1 x 1", rows, columns);
  owner_ = allocate(size() * 4);
  entries_ = static_cast<std::byte*>(owner_.get());
  std::memset(entries_, 0, static_cast<size_t>(size()) * 4);
}

ExactCorrelationMemory::ExactCorrelationMemory(int64_t rows, int64_t columns, int bits,
                                               std::byte* entries, std::shared_ptr<void> owner)
    : rows_(rows),
      columns_(columns),
      bits_(bits),
      owner_(std::move(owner)),
      entries_(entries),
      largest_(kMost32) {}

ExactCorrelationMemory ExactCorrelationMemory::from_bytes(int64_t rows, int64_t columns, int bits,
                                                          std::span<std::byte> bytes,
                                                          std::shared_ptr<void> owner) {
  check_argument(rows > 0 && columns > 0,
                 "ExactCorrelationMemory: {} x {} entries, expected at least 1 x 1", rows, columns);
  check_argument(bits == 32 || bits == 64,
                 "ExactCorrelationMemory: entries of {} bits, expected 32 or 64", bits);
  const auto size = static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns);
  check_argument(bytes.size() == size * static_cast<uint64_t>(bits / 8),
                 "ExactCorrelationMemory: {} bytes, expected {} for {} x {} entries of {} bits",
                 bytes.size(), size * static_cast<uint64_t>(bits / 8), rows, columns, bits);
  check_argument(reinterpret_cast<uintptr_t>(bytes.data()) % static_cast<uintptr_t>(bits / 8) == 0,
                 "ExactCorrelationMemory: the bytes start in the middle of an entry");
  return {rows, columns, bits, bytes.data(), std::move(owner)};
}

ExactCorrelationMemory::ExactCorrelationMemory(const ExactCorrelationMemory& other)
    : rows_(other.rows_),
      columns_(other.columns_),
      bits_(other.bits_),
      owner_(allocate(static_cast<int64_t>(other.bytes().size()))),
      entries_(static_cast<std::byte*>(owner_.get())),
      largest_(other.largest_) {
  std::ranges::copy(other.bytes(), entries_);
}

ExactCorrelationMemory& ExactCorrelationMemory::operator=(const ExactCorrelationMemory& other) {
  return *this = ExactCorrelationMemory(other);
}

void ExactCorrelationMemory::edit(Edit edit, std::span<const int8_t> keys,
                                  std::span<const int8_t> values) {
  const auto count = static_cast<int64_t>(keys.size()) / rows_;
  check_argument(static_cast<int64_t>(keys.size()) == count * rows_ &&
                     static_cast<int64_t>(values.size()) == count * columns_,
                 "ExactCorrelationMemory: {} numbers of keys and {} of values do not make as many "
                 "rows of {} as of {}",
                 keys.size(), values.size(), rows_, columns_);
  reserve(count * kLargestProduct);
  const int sign = edit == Edit::kStore ? 1 : -1;
  if (bits_ == 32)
    add_products(entries<int32_t>(), rows_, columns_, keys, values, sign);
  else
    add_products(entries<int64_t>(), rows_, columns_, keys, values, sign);
  settle();
}

void ExactCorrelationMemory::edit(Edit which, const SignRows& keys, const SignRows& values) {
  check_argument(
      keys.width == rows_ && values.width == columns_ && keys.width % 64 == 0 &&
          values.width % 64 == 0 && keys.count() == values.count(),
      "ExactCorrelationMemory: {} rows of {} signs and {} of {} meet a memory of {} x {}",
      keys.count(), keys.width, values.count(), values.width, rows_, columns_);
  edit(which, unpacked(keys), unpacked(values));
}

void ExactCorrelationMemory::merge(const ExactCorrelationMemory& other) {
  check_argument(rows_ == other.rows_ && columns_ == other.columns_,
                 "ExactCorrelationMemory: {} x {} entries cannot take over {} x {}", rows_,
                 columns_, other.rows_, other.columns_);
  reserve(other.largest_entry());
  for (int64_t i = 0; i < size(); ++i) {
    const int64_t added = other.entry(i / columns_, i % columns_);
    if (bits_ == 32)
      entries<int32_t>()[i] += static_cast<int32_t>(added);
    else
      entries<int64_t>()[i] += added;
  }
  settle();
}

void ExactCorrelationMemory::reserve(int64_t change) {
  if (bits_ == 64) return;
  if (largest_ > kMost32 - change) largest_ = largest_entry();
  if (largest_ > kMost32 - change) return widen();
  largest_ += change;
}

void ExactCorrelationMemory::widen() {
  std::shared_ptr<void> wide = allocate(size() * 8);
  std::copy_n(entries<int32_t>(), size(), static_cast<int64_t*>(wide.get()));
  owner_ = std::move(wide);
  entries_ = static_cast<std::byte*>(owner_.get());
  bits_ = 64;
}

void ExactCorrelationMemory::settle() {
  if (bits_ == 32) return;
  largest_ = largest_entry();
  if (largest_ > kMost32) return;
  std::shared_ptr<void> narrow = allocate(size() * 4);
  std::copy_n(entries<int64_t>(), size(), static_cast<int32_t*>(narrow.get()));
  owner_ = std::move(narrow);
  entries_ = static_cast<std::byte*>(owner_.get());
  bits_ = 32;
}

int64_t ExactCorrelationMemory::largest_entry() const {
  int64_t largest = 0;
  for (int64_t i = 0; i < size(); ++i)
    largest = std::max(largest, std::abs(entry(i / columns_, i % columns_)));
  return largest;
}

int64_t ExactCorrelationMemory::entry(int64_t row, int64_t column) const {
  const int64_t place = row * columns_ + column;
  return bits_ == 32 ? entries<int32_t>()[place] : entries<int64_t>()[place];
}

std::span<const std::byte> ExactCorrelationMemory::bytes() const {
  return {entries_, static_cast<size_t>(size() * bits_ / 8)};
}

double ExactCorrelationMemory::energy() const {
  const double total = bits_ == 32 ? sum_of_squares(entries<int32_t>(), rows_, columns_)
                                   : sum_of_squares(entries<int64_t>(), rows_, columns_);
  return total / static_cast<double>(size());
}

void ExactCorrelationMemory::retrieve(std::span<const int8_t> queries,
                                      std::span<float> values) const {
  const auto count = static_cast<int64_t>(queries.size()) / rows_;
  check_argument(static_cast<int64_t>(queries.size()) == count * rows_ &&
                     static_cast<int64_t>(values.size()) == count * columns_,
                 "ExactCorrelationMemory: {} numbers of queries and {} of values do not make as "
                 "many rows of {} as of {}",
                 queries.size(), values.size(), rows_, columns_);
  std::vector<int64_t> sums(static_cast<size_t>(columns_));
  for (int64_t row = 0; row < count; ++row) {
    std::ranges::fill(sums, 0);
    for (int64_t i = 0; i < rows_; ++i)
      for (int64_t j = 0; j < columns_; ++j)
        sums[static_cast<size_t>(j)] += queries[row * rows_ + i] * entry(i, j);
    for (int64_t j = 0; j < columns_; ++j)
      values[row * columns_ + j] = static_cast<float>(sums[static_cast<size_t>(j)]);
  }
}

}  // namespace tessera
