#pragma once

#include <cstdint>

#include "tessera/memo/cpu/loop.h"

namespace tessera::memo::cpu {

/// codes row n [width]: the elementwise product of `parts` rows of numbers, starting at row
/// n next_step, part_step rows apart, divided by its largest magnitude and rounded to +-127 (zeros
/// if all products are zero). parts: at most 128.
struct WindowProducts {
  int64_t count = 0, width = 0, parts = 0;
  int64_t next_step = 1, part_step = 1;
  const int8_t* numbers = nullptr;
  int8_t* codes = nullptr;  ///< [count, width]
};
TESSERA_INTEGER_LOOP(window_products, WindowProducts);

/// keys = sums times their row's scale, rounded and clipped to +-127.
struct KeyRounding {
  int64_t count = 0, width = 0;
  const int32_t* sums = nullptr;   ///< [count, width]
  const double* scales = nullptr;  ///< [count]
  int8_t* keys = nullptr;          ///< [count, width]
};
TESSERA_INTEGER_LOOP(key_rounding, KeyRounding);

}  // namespace tessera::memo::cpu
