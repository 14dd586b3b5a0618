#pragma once

#include <cstdint>

namespace tessera::memo::cpu {

/// The digits of entries in base 128, from -64 to 63, lowest first:
/// entries = the sum over p of 128^p digits_p, for as many planes as that takes.
struct DigitPlanes {
  int64_t count = 0;
  int64_t planes = 0;
  const int32_t* entries = nullptr;  ///< [count]
  int8_t* digits = nullptr;          ///< [planes, count]
};

}  // namespace tessera::memo::cpu
