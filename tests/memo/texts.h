#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/memo/text_memory_config.h"
#include "tessera/memo/window_code.h"

namespace tessera::test {

/// A text in which each token of the vocabulary is equally likely everywhere.
inline std::vector<int32_t> random_tokens(uint64_t seed, size_t length, uint64_t vocabulary) {
  RandomStream random(seed);
  std::vector<int32_t> tokens(length);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random.below(vocabulary));
  return tokens;
}

/// The configuration of windows of `heads` tokens, and in each further layer of longer ones.
inline memo::TextMemoryConfig windows_of(int32_t heads, int32_t layers, int64_t vocabulary) {
  return {.heads = heads, .layers = layers, .vocabulary = vocabulary};
}

/// Tokens in pieces of this size; they must outlive them.
inline memo::TokenPieces pieces_of(std::span<const int32_t> tokens, size_t size = 1000) {
  return [tokens, size]() mutable {
    const auto piece = tokens.first(std::min(size, tokens.size()));
    tokens = tokens.subspan(piece.size());
    return piece;
  };
}

}  // namespace tessera::test
