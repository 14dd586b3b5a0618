#pragma once

#include <cstdint>

#include "tessera/memo/cpu/loop.h"

namespace tessera::memo::cpu {

/// For every value v [width] and every block b of tokens, scores = scale H u_b, where u_b [block]
/// is the sum over the width / block parts of mask_b o v, and H the Hadamard matrix of that order.
/// Sums of whole numbers up to 2^24 are exact; beyond, they are the same bits on every instruction
/// set.
struct HadamardScores {
  int64_t count = 0, width = 0;
  int64_t block = 0;                ///< tokens; a power of two, at least 64, that divides width
  int64_t tokens = 0;               ///< V
  const float* values = nullptr;    ///< [count, width]
  const uint64_t* masks = nullptr;  ///< [ceil(tokens / block), width / 64], a set bit means -1
  float scale = 1;
  float* const* scores = nullptr;  ///< a row [tokens] for every value
};
TESSERA_INTEGER_LOOP(hadamard_scores, HadamardScores);

}  // namespace tessera::memo::cpu
