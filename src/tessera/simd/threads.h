#pragma once

#include <cstdint>

namespace tessera::simd {

/// Products or elements below which waking other threads costs more than they save.
constexpr int64_t kWorthThreads = int64_t{1} << 16;
/// The same for floats that are read once, from memory.
constexpr int64_t kWorthThreadsOfReading = int64_t{1} << 19;

/// The threads that a parallel region starts here, for its num_threads clause: all of OpenMP's, or
/// one where the work is not worth more or the caller already runs beside others.
int region_threads(bool worth_threads = true);

}  // namespace tessera::simd
