#pragma once

#include <cstdint>
#include <vector>

#include "tessera/data/token_stream.h"

namespace tessera {

/// Rows of consecutive tokens, row-major [rows, length]; targets are the inputs' next tokens.
struct TokenBatch {
  int64_t rows = 0, length = 0;
  std::vector<int64_t> inputs, targets;
};

/// Draws windows of a stream for training and evaluation.
class WindowSampler {
 public:
  /// rows: windows in a batch; length: tokens in a window. Throws DataError if the stream has not
  /// length + 1 tokens.
  WindowSampler(TokenStream stream, int64_t rows, int64_t length, uint64_t seed);

  /// Windows at uniformly random places, with replacement. A pure function of (seed, step, row):
  /// a resumed run draws what the uninterrupted one would have drawn, and batches of other sizes
  /// share their first rows.
  TokenBatch batch(int64_t step) const;

  /// `count` windows spread evenly from the first to the last, always the same; fewer where the
  /// stream has fewer.
  TokenBatch evaluation_windows(int64_t count) const;

 private:
  /// Places at which a window can start.
  int64_t starts() const { return stream_.size() - length_; }
  TokenBatch read(const std::vector<int64_t>& begins) const;

  TokenStream stream_;
  int64_t rows_, length_;
  uint64_t seed_;
};

}  // namespace tessera
