#pragma once

#include <chrono>
#include <ctime>

namespace tessera::bench {

/// Seconds that all threads of this process have run. On a machine that others use too, rates by
/// this clock are steadier than those by the wall's; threads that wait spinning count.
inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Seconds of the wall's clock that this work takes.
template <typename Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace tessera::bench
