// How an ExactCorrelationMemory packs its numbers.

#include <algorithm>
#include <bit>
#include <cstring>

#include "tessera/base/error.h"
#include "tessera/memo/detail/allocate_matrix.h"
#include "tessera/memo/exact_correlation_memory.h"
#include "tessera/simd/threads.h"

namespace tessera::memo {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read from any byte on");

/// Whatever the words are, numbers within the type's range come out where the packing's are.
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
    numbers[i] = static_cast<Number>(least + step * (value >> bit % 8 & mask));
  }
}

}  // namespace

int Packing::width() const {
  const uint64_t largest =
      (static_cast<uint64_t>(most) - static_cast<uint64_t>(least)) / static_cast<uint64_t>(step);
  const int bits = std::bit_width(largest);
  return bits <= 56 ? bits : 64;  // with up to seven bits before them, 56 lie in eight bytes
}

int64_t Packing::words(int64_t count) const {
  return width() == 0 ? 0 : (count * width() + 63) / 64 + 1;
}

Packing ExactCorrelationMemory::packing() const {
  return with_numbers([]<typename Number>(std::span<const Number> numbers) -> Packing {
    Number least = numbers[0], most = numbers[0], different = 0;
    for (const Number number : numbers) {
      least = std::min(least, number);
      most = std::max(most, number);
      different |= number ^ numbers[0];
    }
    return {least, most, (different & 1) != 0 ? 1 : 2};
  });
}

std::vector<uint64_t> ExactCorrelationMemory::packed(const Packing& packing) const {
  std::vector<uint64_t> words(packing.words(size()));
  const auto width = static_cast<uint64_t>(packing.width());
  if (width == 0) return words;
  with_numbers([&](auto numbers) {
    uint64_t bit = 0;
    for (const int64_t number : numbers) {
      const uint64_t value =
          (static_cast<uint64_t>(number) - static_cast<uint64_t>(packing.least)) /
          static_cast<uint64_t>(packing.step);
      const uint64_t word = bit / 64, before = bit % 64;
      words[word] |= value << before;
      if (before + width > 64) words[word + 1] |= value >> (64 - before);
      bit += width;
    }
  });
  return words;
}

ExactCorrelationMemory ExactCorrelationMemory::from_packed(int64_t rows, int64_t columns,
                                                           const Packing& packing,
                                                           std::span<const uint64_t> words) {
  check_size(rows, columns);
  check_argument(packing.least <= packing.most && (packing.step == 1 || packing.step == 2) &&
                     std::ssize(words) == packing.words(rows * columns),
                 "ExactCorrelationMemory: {} words do not hold {} x {} numbers from {} to {} in "
                 "steps of {}",
                 words.size(), rows, columns, packing.least, packing.most, packing.step);
  const auto fit = [&](int64_t most) { return packing.least >= -most && packing.most <= most; };
  const int bits = fit(INT16_MAX) ? 16 : fit(INT32_MAX) ? 32 : 64;
  ExactCorrelationMemory memory(rows, columns, bits, allocate_matrix(rows * columns * bits / 8));
  memory.with_numbers([&]<typename Number>(std::span<const Number> numbers) {
    unpack_numbers(words, packing, std::span(memory.entries<Number>(), numbers.size()));
  });
  return memory;
}

}  // namespace tessera::memo
