#include "tessera/base/random.h"

#include <cmath>
#include <numbers>

#include "tessera/base/error.h"

namespace tessera {

std::array<uint32_t, 4> Philox::block(uint64_t index) const {
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                               static_cast<uint32_t>(stream_),
                               static_cast<uint32_t>(stream_ >> 32)};
  uint32_t key0 = static_cast<uint32_t>(seed_), key1 = static_cast<uint32_t>(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * c[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(product1 >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(product1),
         static_cast<uint32_t>(product0 >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += 0x9E3779B9;  // golden ratio
    key1 += 0xBB67AE85;  // sqrt(3) - 1
  }
  return c;
}

uint64_t Philox::number(uint64_t index) const {
  const auto words = block(index);
  return uint64_t{words[1]} << 32 | words[0];
}

uint64_t run_seed(uint64_t seed, int64_t run) {
  constexpr uint64_t kRuns = 0x72756E73;  // the stream: "runs"
  return run == 0 ? seed : Philox(seed, kRuns).number(run);
}

uint64_t RandomStream::operator()() {
  if (used_words_ == 4) {
    words_ = philox_.block(next_block_++);
    used_words_ = 0;
  }
  const uint64_t low = words_[used_words_], high = words_[used_words_ + 1];
  used_words_ += 2;
  return high << 32 | low;
}

double RandomStream::uniform() {
  return static_cast<double>((*this)() >> 11) * 0x1p-53;
}

uint64_t RandomStream::below(uint64_t bound) {
  check_argument(bound > 0, "RandomStream::below: the bound must be positive");
  // Draws under 2^64 mod bound are rejected, so that every remainder is equally likely.
  const uint64_t threshold = (0 - bound) % bound;
  for (;;) {
    const uint64_t draw = (*this)();
    if (draw >= threshold) return draw % bound;
  }
}

double RandomStream::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_normal_ = true;
  return radius * std::cos(angle);
}

}  // namespace tessera
