#include "tessera/memo/detail/rounded_normal.h"

#include <cmath>
#include <numbers>

#include "tessera/base/random.h"

namespace tessera::memo {

RoundedNormal::RoundedNormal(double scale, int limit) : table_(1 << 16) {
  // Numbers below `value` take the first 2^16 Phi((value - 1/2) / scale) places.
  size_t place = 0;
  double squares = 0;
  for (int value = -limit; value <= limit; ++value) {
    const double upper = (value + 0.5) / (scale * std::numbers::sqrt2);
    const auto end = value == limit ? table_.size()
                                    : static_cast<size_t>(std::lround(32768 * std::erfc(-upper)));
    for (; place < end; ++place) {
      table_[place] = static_cast<int8_t>(value);
      squares += value * value;
    }
  }
  deviation_ = std::sqrt(squares / static_cast<double>(table_.size()));
}

void RoundedNormal::draw(uint64_t seed, uint64_t stream, int64_t first, int64_t count,
                         int8_t* numbers) const {
  const Philox philox(seed, stream);
  for (int64_t n = 0; n < count; n += 8) {
    const auto words = philox.block(static_cast<uint64_t>((first + n) / 8));
    for (int64_t half = 0; half < 8 && n + half < count; ++half)
      numbers[n + half] =
          table_[words[static_cast<size_t>(half / 2)] >> (16 * (half % 2)) & 0xffff];
  }
}

}  // namespace tessera::memo
