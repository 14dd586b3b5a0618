#pragma once

#include <cstdint>
#include <span>

namespace tessera::memo {

/// Rows of signs, 64 to a word: bit c % 64 of word c / 64 of a row is set where sign c is -1.
struct SignRows {
  std::span<const uint64_t> words;  ///< [n, width / 64]
  int64_t width = 0;                ///< signs a row, a multiple of 64

  int64_t count() const { return width == 0 ? 0 : static_cast<int64_t>(words.size()) * 64 / width; }
  /// Whether the words make whole rows.
  bool whole() const {
    return width % 64 == 0 && static_cast<int64_t>(words.size()) * 64 == count() * width;
  }
};

}  // namespace tessera::memo
