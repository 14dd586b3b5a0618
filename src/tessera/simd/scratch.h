#pragma once

#include <cstdint>
#include <cstdlib>

namespace tessera::simd {

/// Working memory of one thread, freed at the end of its scope; every piece starts at a cache line.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    for (int k = 0; k < pieces_; ++k) std::free(piece_[k]);
  }

  float* floats(int64_t count) {
    // Uneven lengths keep equally long pieces from falling into the same cache sets.
    const size_t bytes = (static_cast<size_t>(count) * sizeof(float) + 63) / 64 * 64 + 64;
    void* memory = pieces_ < kPieces ? std::aligned_alloc(64, bytes) : nullptr;
    if (!memory) std::abort();
    piece_[pieces_++] = memory;
    return static_cast<float*>(memory);
  }

 private:
  static constexpr int kPieces = 32;
  void* piece_[kPieces] = {};
  int pieces_ = 0;
};

}  // namespace tessera::simd
