#include "tessera/memo/detail/packed_numbers.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "tessera/simd/threads.h"

namespace tessera::memo {

static_assert(std::endian::native == std::endian::little, "words are read from any byte on");

int Packing::width() const {
  const uint64_t largest =
      (static_cast<uint64_t>(most) - static_cast<uint64_t>(least)) / static_cast<uint64_t>(step);
  const int bits = std::bit_width(largest);
  return bits <= 56 ? bits : 64;  // with up to seven bits before them, 56 lie in eight bytes
}

int64_t Packing::words(int64_t count) const {
  return width() == 0 ? 0 : (count * width() + 63) / 64 + 1;
}

template <typename Number>
int64_t largest_magnitude(std::span<const Number> numbers) {
  const auto count = std::ssize(numbers);
  int64_t largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest) if (count >= simd::kWorthThreads)
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = numbers[static_cast<size_t>(i)];
    largest = std::max(largest, std::abs(std::max(number, -INT64_MAX)));
  }
  return largest;
}

template <typename Number>
Packing packing_of(std::span<const Number> numbers) {
  if (numbers.empty()) return {};
  Number least = numbers[0], most = numbers[0], different = 0;
  for (const Number number : numbers) {
    least = std::min(least, number);
    most = std::max(most, number);
    different |= number ^ numbers[0];
  }
  return {least, most, (different & 1) != 0 ? 1 : 2};
}

template <typename Number>
std::vector<uint64_t> packed_numbers(std::span<const Number> numbers, const Packing& packing) {
  std::vector<uint64_t> words(static_cast<size_t>(packing.words(std::ssize(numbers))));
  const auto width = static_cast<uint64_t>(packing.width());
  if (width == 0) return words;
  uint64_t bit = 0;
  for (const Number number : numbers) {
    const uint64_t value =
        (static_cast<uint64_t>(int64_t{number}) - static_cast<uint64_t>(packing.least)) /
        static_cast<uint64_t>(packing.step);
    const uint64_t word = bit / 64, before = bit % 64;
    words[word] |= value << before;
    if (before + width > 64) words[word + 1] |= value >> (64 - before);
    bit += width;
  }
  return words;
}

template <typename Number>
void unpack_numbers(std::span<const uint64_t> words, const Packing& packing,
                    std::span<Number> numbers) {
  const auto width = static_cast<uint64_t>(packing.width());
  if (width == 0) {
    std::ranges::fill(numbers, static_cast<Number>(packing.least));
    return;
  }
  const auto step = static_cast<uint64_t>(packing.step),
             least = static_cast<uint64_t>(packing.least);
  const uint64_t mask = ~uint64_t{0} >> (64 - width);
  const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
  const auto count = std::ssize(numbers);
#pragma omp parallel for schedule(static) if (count >= simd::kWorthThreads)
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bit = static_cast<uint64_t>(i) * width;
    uint64_t value = 0;
    std::memcpy(&value, bytes + bit / 8, sizeof value);
    numbers[static_cast<size_t>(i)] = static_cast<Number>(least + step * (value >> bit % 8 & mask));
  }
}

template int64_t largest_magnitude(std::span<const int16_t>);
template Packing packing_of(std::span<const int16_t>);
template std::vector<uint64_t> packed_numbers(std::span<const int16_t>, const Packing&);
template void unpack_numbers(std::span<const uint64_t>, const Packing&, std::span<int16_t>);
template int64_t largest_magnitude(std::span<const int32_t>);
template Packing packing_of(std::span<const int32_t>);
template std::vector<uint64_t> packed_numbers(std::span<const int32_t>, const Packing&);
template void unpack_numbers(std::span<const uint64_t>, const Packing&, std::span<int32_t>);
template int64_t largest_magnitude(std::span<const int64_t>);
template Packing packing_of(std::span<const int64_t>);
template std::vector<uint64_t> packed_numbers(std::span<const int64_t>, const Packing&);
template void unpack_numbers(std::span<const uint64_t>, const Packing&, std::span<int64_t>);

}  // namespace tessera::memo
