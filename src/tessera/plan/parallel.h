#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <stop_token>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/plan/blas.h"

namespace tessera::theory {

/// Calls body(0), …, body(count - 1) on all OpenMP threads, with OpenBLAS at one thread each, and
/// rethrows the first exception, after which no further index is begun; after a signal, or once it
/// is asked to stop, it throws Interrupted before the next index (see InterruptGuard). Inside
/// another such loop it runs serially. body must depend on its index alone: then so does what it
/// writes, whatever the number of threads.
template <typename Body>
void parallel_for(int64_t count, const Body& body, const std::stop_token& stop = {}) {
  const SerialBlas serial_blas;
  std::exception_ptr failure;
  std::atomic<bool> failed = false;
#pragma omp parallel for schedule(dynamic)
  for (int64_t i = 0; i < count; ++i) {
    if (failed) continue;
    try {
      InterruptGuard::stop_if_interrupted("stopped");
      if (stop.stop_requested()) throw Interrupted("stopped");
      body(i);
    } catch (...) {
      failed = true;
#pragma omp critical(tessera_theory_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// body(run) for every run in {0, …, runs - 1}, in order, computed in parallel.
template <typename Body>
auto parallel_runs(int64_t runs, const Body& body, const std::stop_token& stop = {}) {
  std::vector<decltype(body(int64_t{0}))> results(runs);
  parallel_for(
      runs, [&](int64_t run) { results[run] = body(run); }, stop);
  return results;
}

}  // namespace tessera::theory
