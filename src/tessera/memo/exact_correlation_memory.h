#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tessera::memo {

/// Rows of signs, 64 to a word: bit c % 64 of word c / 64 of a row is set where sign c is -1.
struct SignRows {
  std::span<const uint64_t> words;  ///< [n, width / 64]
  int64_t width = 0;                ///< signs a row, a multiple of 64

  int64_t count() const { return width == 0 ? 0 : std::ssize(words) * 64 / width; }
  /// Whether the words make whole rows.
  bool whole() const { return width % 64 == 0 && std::ssize(words) * 64 == count() * width; }
};

/// How whole numbers are packed into as few bits each as all of them fit in: bits i width() to
/// (i + 1) width() - 1 of the words, lowest first, are (number i - least) / step. Sums of as many
/// signs are all even or all odd: their step is 2.
struct Packing {
  int64_t least = 0, most = 0, step = 1;

  int width() const;  ///< bits of a number: 0 to 56, or 64
  /// For so many numbers; one more than they fill, so that each can be read with eight bytes.
  int64_t words(int64_t count) const;
  bool operator==(const Packing&) const = default;
};

/// Whether pairs are added or removed.
enum class Edit { kStore, kForget };

/// A correlation matrix memory C [K, D] of whole numbers: the sum of the outer products of 8-bit
/// keys [K] and values [D] (Zanzotto et al. 2025, eq. 2). Its content depends only on which pairs
/// it holds: not on their order, batches, threads, instruction set, merges, or on what was stored
/// and forgotten in between. Entries have 32 bits, or 64 if one of them needs more; what was made
/// from packed numbers that fit 16 bits is kept in 16 until it is written to. Every member throws
/// UsageError on sizes and places that do not fit, and leaves C unchanged.
class ExactCorrelationMemory {
 public:
  /// Holds nothing: C = 0. rows and columns up to 2^17.
  ExactCorrelationMemory(int64_t rows, int64_t columns);

  /// C from the bytes() of another memory.
  static ExactCorrelationMemory from_bytes(int64_t rows, int64_t columns, int bits,
                                           std::span<const std::byte> bytes);

  /// C from what another memory's packed() gave.
  static ExactCorrelationMemory from_packed(int64_t rows, int64_t columns, const Packing& packing,
                                            std::span<const uint64_t> words);

  /// A copy has its own entries.
  ExactCorrelationMemory(const ExactCorrelationMemory& other);
  ExactCorrelationMemory& operator=(const ExactCorrelationMemory& other);
  ExactCorrelationMemory(ExactCorrelationMemory&&) = default;
  ExactCorrelationMemory& operator=(ExactCorrelationMemory&&) = default;

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

  /// C += keys^T values. keys [n, K], values [n, D].
  void store(std::span<const int8_t> keys, std::span<const int8_t> values) {
    edit(Edit::kStore, keys, values);
  }
  void store(const SignRows& keys, const SignRows& values) { edit(Edit::kStore, keys, values); }
  /// C -= keys^T values: exactly what store() of the same pairs added.
  void forget(std::span<const int8_t> keys, std::span<const int8_t> values) {
    edit(Edit::kForget, keys, values);
  }
  void forget(const SignRows& keys, const SignRows& values) { edit(Edit::kForget, keys, values); }
  /// One or the other.
  void edit(Edit edit, std::span<const int8_t> keys, std::span<const int8_t> values);
  void edit(Edit edit, const SignRows& keys, const SignRows& values);
  /// C += the other's C, as if all its pairs were stored here too.
  void merge(const ExactCorrelationMemory& other);

  /// values [n, D] = queries [n, K] C, each the exact sum rounded once to float (exact below 2^53;
  /// Zanzotto et al. 2025, eq. 3).
  void retrieve(std::span<const int8_t> queries, std::span<float> values) const;

  /// |C|_F^2 / (K D). For pairs of random signs this is, in expectation, the sum of their squared
  /// multiplicities: the number of pairs, if each is held once. One pass over C.
  double energy() const;

  int64_t entry(int64_t row, int64_t column) const;
  /// 32, or 64 if and only if an entry is beyond +-(2^31 - 1).
  int bits() const { return held_ == 64 ? 64 : 32; }
  /// So many rows of C from `first` on, bits() for each entry, in the machine's byte order.
  std::vector<std::byte> bytes(int64_t first, int64_t rows) const;
  std::vector<std::byte> bytes() const { return bytes(0, rows_); }
  Packing packing() const;
  std::vector<uint64_t> packed(const Packing& packing) const;

 private:
  ExactCorrelationMemory(int64_t rows, int64_t columns, int bits,
                         std::shared_ptr<std::byte> entries);
  static void check_size(int64_t rows, int64_t columns);
  int64_t size() const { return rows_ * columns_; }
  template <typename Entry>
  Entry* entries() const {
    return reinterpret_cast<Entry*>(entries_.get());
  }
  template <typename Entry>
  std::span<const Entry> numbers() const {
    return {entries<Entry>(), static_cast<size_t>(size())};
  }
  /// work(span of the entries), of whatever type they are.
  template <typename Work>
  decltype(auto) with_numbers(Work&& work) const {
    if (held_ == 16) return work(numbers<int16_t>());
    return held_ == 32 ? work(numbers<int32_t>()) : work(numbers<int64_t>());
  }
  /// Copies the entries to ones of this type, which can hold them.
  template <typename Entry>
  void hold_in();
  /// Calls add(entries) on 32-bit entries: those of C, or, if C has 64 bits, zeros that are then
  /// added to C.
  template <typename Add>
  void add_narrow(const Add& add);
  /// Makes room for entries that grow by at most `change` in magnitude.
  void reserve(int64_t change);
  /// Goes back to 32 bits if they suffice.
  void settle();
  int64_t largest_entry() const;

  int64_t rows_ = 0, columns_ = 0;
  int held_ = 32;  // bits of an entry: 16, 32 or 64
  std::shared_ptr<std::byte> entries_;
  int64_t largest_ = 0;  // no entry's magnitude is above this
};

}  // namespace tessera::memo
