#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/memo/exact_correlation_memory.h"

namespace tessera::memo {

/// The largest magnitude of numbers of 16, 32 or 64 bits, of which -2^63 counts as 1 - 2^63; 0 of
/// none.
template <typename Number>
int64_t largest_magnitude(std::span<const Number> numbers);

/// How these numbers are packed.
template <typename Number>
Packing packing_of(std::span<const Number> numbers);
template <typename Number>
std::vector<uint64_t> packed_numbers(std::span<const Number> numbers, const Packing& packing);
/// Whatever the words are, numbers within the type's range come out where the packing's are.
template <typename Number>
void unpack_numbers(std::span<const uint64_t> words, const Packing& packing,
                    std::span<Number> numbers);

}  // namespace tessera::memo
