#pragma once

#include <cstdint>

namespace tessera::simd {

/// Products or elements below which waking other threads costs more than they save.
constexpr int64_t kWorthThreads = int64_t{1} << 16;
/// The same for floats that are read once, from memory.
constexpr int64_t kWorthThreadsOfReading = int64_t{1} << 19;

}  // namespace tessera::simd
