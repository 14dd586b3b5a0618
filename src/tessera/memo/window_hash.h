#pragma once

#include <cstdint>
#include <span>

namespace tessera::theory {

/// A number that stands for these tokens in this order.
inline uint64_t hash_tokens(std::span<const int32_t> tokens) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const int32_t token : tokens) {
    hash = (hash ^ static_cast<uint32_t>(token)) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace tessera::theory
