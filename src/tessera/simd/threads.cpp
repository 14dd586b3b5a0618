#include "tessera/simd/threads.h"

#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace tessera::simd {
namespace {

constexpr int64_t kCacheLine = 16;  // floats

int64_t whole_lines(int64_t floats) {
  return (floats + kCacheLine - 1) / kCacheLine * kCacheLine;
}

float* allocated(int64_t floats) {
  constexpr int64_t kMost = int64_t{1} << 45;  // more than an address space of 2^47 bytes holds
  void* memory = floats < kMost ? std::aligned_alloc(
                                      kCacheLine * sizeof(float),
                                      static_cast<size_t>(whole_lines(floats + 1)) * sizeof(float))
                                : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<float*>(memory);
}

}  // namespace

int region_threads(bool worth_threads) {
  return worth_threads && !omp_in_parallel() ? omp_get_max_threads() : 1;
}

ThreadMemory::ThreadMemory(int threads, int64_t floats) {
  parts_.reserve(threads);
  for (int thread = 0; thread < threads; ++thread) parts_.emplace_back(allocated(floats));
}

ThreadMemory::~ThreadMemory() = default;

float* ThreadMemory::of(int thread) const {
  return parts_[thread].get();
}

void ThreadMemory::Free::operator()(float* memory) const {
  std::free(memory);
}

float* Scratch::floats(int64_t count) {
  float* piece = memory_ == nullptr ? nullptr : memory_ + size_;
  // One line between pieces keeps equally long ones from falling into the same cache sets.
  size_ += whole_lines(count) + kCacheLine;
  return piece;
}

float* Scratch::zeros(int64_t count) {
  float* piece = floats(count);
  if (piece != nullptr) std::fill_n(piece, count, 0.0f);
  return piece;
}

}  // namespace tessera::simd
