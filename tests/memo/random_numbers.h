#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "tessera/base/random.h"

namespace tessera::test {

/// Numbers from `least` to `most`, all equally likely.
template <typename Number>
std::vector<Number> random_numbers(RandomStream& random, int64_t count,
                                   int64_t least = std::numeric_limits<Number>::min(),
                                   int64_t most = std::numeric_limits<Number>::max()) {
  const auto choices = static_cast<uint64_t>(most - least + 1);
  std::vector<Number> numbers(count);
  for (Number& number : numbers)
    number = static_cast<Number>(least + static_cast<int64_t>(random.below(choices)));
  return numbers;
}

inline std::vector<uint64_t> random_words(RandomStream& random, int64_t count) {
  std::vector<uint64_t> words(count);
  std::ranges::generate(words, std::ref(random));
  return words;
}

/// 1 or -1: one of the signs that stand 64 to a word (memo::SignRows).
inline int64_t sign_at(const uint64_t* words, int64_t place) {
  return (words[place / 64] >> (place % 64) & 1) != 0 ? -1 : 1;
}

}  // namespace tessera::test
