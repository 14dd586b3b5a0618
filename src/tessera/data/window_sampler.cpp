#include "tessera/data/window_sampler.h"

#include <algorithm>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/random.h"

namespace tessera {
namespace {

// Keeps these draws apart from others that are made with the same seed.
constexpr uint64_t kPurpose = 0x77696E646F777321;

}  // namespace

WindowSampler::WindowSampler(TokenStream stream, int64_t rows, int64_t length, uint64_t seed)
    : stream_(std::move(stream)), rows_(rows), length_(length), seed_(seed) {
  check_argument(rows >= 1 && length >= 1,
                 "WindowSampler: {} rows of {} tokens, expected at least one of each", rows,
                 length);
  if (stream_.size() <= length)
    throw DataError("text",
                    "has {} tokens, but a window of {} and its targets need {}; give more text or "
                    "choose a shorter context",
                    stream_.size(), length, length + 1);
}

TokenBatch WindowSampler::batch(int64_t step) const {
  check_argument(step >= 0, "WindowSampler::batch: step {}, expected 0 or more", step);
  const Philox philox(seed_ ^ kPurpose, static_cast<uint64_t>(step));
  std::vector<int64_t> begins(static_cast<size_t>(rows_));
  for (size_t row = 0; row < begins.size(); ++row) {
    const auto words = philox.block(row);
    const uint64_t draw = static_cast<uint64_t>(words[0]) << 32 | words[1];
    // The high half of the product is uniform up to starts / 2^64.
    begins[row] = static_cast<int64_t>(static_cast<unsigned __int128>(draw) * starts() >> 64);
  }
  return read(begins);
}

TokenBatch WindowSampler::evaluation_windows(int64_t count) const {
  check_argument(count >= 1, "WindowSampler::evaluation_windows: {} windows, expected 1 or more",
                 count);
  const int64_t windows = std::min(count, starts());
  std::vector<int64_t> begins(static_cast<size_t>(windows), 0);
  for (int64_t i = 1; i < windows; ++i)
    begins[static_cast<size_t>(i)] =
        static_cast<int64_t>(static_cast<__int128>(i) * (starts() - 1) / (windows - 1));
  return read(begins);
}

TokenBatch WindowSampler::read(const std::vector<int64_t>& begins) const {
  TokenBatch batch{static_cast<int64_t>(begins.size()), length_, {}, {}};
  std::vector<int64_t> window(static_cast<size_t>(length_ + 1));
  for (int64_t begin : begins) {
    stream_.read(begin, window);
    batch.inputs.insert(batch.inputs.end(), window.begin(), window.end() - 1);
    batch.targets.insert(batch.targets.end(), window.begin() + 1, window.end());
  }
  return batch;
}

}  // namespace tessera
