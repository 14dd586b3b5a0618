#pragma once

namespace tessera {

/// Threads that --threads, train.threads and OMP_NUM_THREADS may ask for; thousands take minutes to
/// start.
constexpr int kMostThreads = 512;

}  // namespace tessera
