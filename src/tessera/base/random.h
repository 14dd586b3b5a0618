#pragma once

#include <array>
#include <cstdint>

namespace tessera {

/// Counter-based random numbers: Philox 4x32-10 (Salmon et al. 2011). Block n of a stream is a pure
/// function of (seed, stream, n), so draws can be made in any order, by any thread, and repeated.
class Philox {
 public:
  explicit constexpr Philox(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  /// The four 32-bit words of block `index`.
  std::array<uint32_t, 4> block(uint64_t index) const;
  /// Its first two words as one number.
  uint64_t number(uint64_t index) const;

 private:
  uint64_t seed_;
  uint64_t stream_;
};

/// Seed of run `run` (from 0) of several that share a seed: the seed itself for the first, a number
/// from a Philox stream for each other, so that neighbouring seeds share no run.
uint64_t run_seed(uint64_t seed, int64_t run);

/// Reads one Philox stream from its start, as the standard library's generators are read
/// (it satisfies UniformRandomBitGenerator). Same (seed, stream), same numbers, on every platform.
class RandomStream {
 public:
  using result_type = uint64_t;

  explicit RandomStream(uint64_t seed, uint64_t stream = 0) : philox_(seed, stream) {}

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return UINT64_MAX; }
  uint64_t operator()();

  /// Uniform in [0, 1), 53 random bits.
  double uniform();
  /// Uniform in {0, …, bound - 1}, without bias; bound > 0.
  uint64_t below(uint64_t bound);
  /// Standard normal (Box-Muller).
  double normal();

 private:
  Philox philox_;
  uint64_t next_block_ = 0;
  std::array<uint32_t, 4> words_{};
  int used_words_ = 4;
  double spare_normal_ = 0.0;
  bool has_spare_normal_ = false;
};

}  // namespace tessera
