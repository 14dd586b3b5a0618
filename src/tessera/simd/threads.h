#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::simd {

/// Products or elements below which waking other threads costs more than they save.
constexpr int64_t kWorthThreads = int64_t{1} << 16;
/// The same for floats that are read once, from memory.
constexpr int64_t kWorthThreadsOfReading = int64_t{1} << 19;

/// The threads that a parallel region starts here, for its num_threads clause: all of OpenMP's, or
/// one where the work is not worth more or the caller already runs beside others.
int region_threads(bool worth_threads = true);

/// Working memory for the threads of one parallel region, freed at the end of its scope. Create it
/// before the region: an exception must not leave a region of OpenMP.
class ThreadMemory {
 public:
  /// `floats` for each of `threads`, starting at a cache line. Throws std::bad_alloc.
  ThreadMemory(int threads, int64_t floats);
  ~ThreadMemory();

  /// The memory of one thread, 0 <= thread < threads.
  float* of(int thread) const;

 private:
  struct Free {
    void operator()(float* memory) const;
  };
  std::vector<std::unique_ptr<float, Free>> parts_;
};

/// Divides a thread's memory into pieces, each of which starts at a cache line. Without memory it
/// only adds up how much the pieces take: the code that divides says how much to ask for.
class Scratch {
 public:
  /// memory starts at a cache line, or is null.
  explicit Scratch(float* memory = nullptr) : memory_(memory) {}

  /// The next piece; null without memory.
  float* floats(int64_t count);
  /// The same, filled with zeros.
  float* zeros(int64_t count);
  /// Floats in all pieces so far and between them.
  int64_t size() const { return size_; }

 private:
  float* memory_;
  int64_t size_ = 0;
};

}  // namespace tessera::simd
