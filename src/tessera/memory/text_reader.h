#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/memory/text_memory.h"
#include "tessera/memory/window_scores.h"

namespace tessera {

/// Streams tokens and gives the score of every token of the vocabulary to come next. One read costs
/// one pass over C, however much was read before. It reads what the memory holds at the time.
class TextReader {
 public:
  /// memory must outlive the reader.
  explicit TextReader(const TextMemory& memory);

  /// Throws std::invalid_argument on an id outside the vocabulary.
  void append(int32_t token);
  WindowScores scores();

 private:
  const TextMemory* memory_;
  std::vector<int32_t> context_;  // no more than the longest window and as much again
};

/// The same for many contexts at once, by matrix products over all of them: bit for bit what a
/// TextReader gives for each. Throws std::invalid_argument on an id outside the vocabulary.
std::vector<WindowScores> read_contexts(const TextMemory& memory,
                                        std::span<const std::span<const int32_t>> contexts);

}  // namespace tessera
