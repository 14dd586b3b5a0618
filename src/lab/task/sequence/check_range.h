#pragma once

#include <cstdint>
#include <string_view>

#include "tessera/base/error.h"

namespace tessera::task {

/// Throws UsageError unless low <= value <= high. what: "copy: bits".
inline void check_range(int64_t value, int64_t low, int64_t high, std::string_view what) {
  if (value < low || value > high)
    throw UsageError("{} is {}, expected a whole number from {} to {}", what, value, low, high);
}

}  // namespace tessera::task
