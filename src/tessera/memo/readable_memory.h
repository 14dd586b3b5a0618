#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/memo/text_memory_config.h"
#include "tessera/memo/window_code.h"

namespace tessera::memo {

/// What readers ask of a memory of texts, wherever its matrices are: in this process (TextMemory)
/// or in several others, whose values are added up.
class ReadableMemory {
 public:
  virtual ~ReadableMemory() = default;

  virtual const TextMemoryConfig& config() const = 0;
  virtual const WindowCode& code() const = 0;
  /// In tokens, ascending.
  virtual std::span<const int64_t> window_lengths() const = 0;
  /// The values [n, d] that the matrices hold for the keys of some windows, still bound: each the
  /// exact sum rounded once to float.
  virtual std::vector<float> retrieve(const WindowQueries& queries) const = 0;
  /// Standard deviation of one window's score for a token that was not stored with it; a token that
  /// was scores 1. The mean over all windows.
  virtual double noise() const = 0;
  /// The same for the windows of one shard.
  virtual double noise(size_t shard) const = 0;

 protected:
  ReadableMemory() = default;
  ReadableMemory(const ReadableMemory&) = default;
  ReadableMemory& operator=(const ReadableMemory&) = default;
};

}  // namespace tessera::memo
