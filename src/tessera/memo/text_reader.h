#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/memo/likelihood_decoder.h"
#include "tessera/memo/text_memory.h"
#include "tessera/memo/window_scores.h"

namespace tessera {

/// Streams tokens and gives the score of every token of the vocabulary to come next. One read costs
/// one pass over C, however much was read before. It reads what the memory holds at the time.
class TextReader {
 public:
  /// memory must outlive the reader and keep its configuration.
  explicit TextReader(const TextMemory& memory);

  /// Throws std::invalid_argument on an id outside the vocabulary.
  void append(int32_t token);
  /// Valid until the next call.
  const WindowScores& scores();
  /// The paper's recall, as recall_contexts() gives it. noise: TextMemory::noise().
  NextToken recall(double noise) const;

 private:
  const TextMemory* memory_;
  std::unique_ptr<WindowStream> stream_;
  size_t read_ = 0;  // tokens
  WindowScores scores_;
};

/// The same for many contexts at once, by matrix products over all of them: bit for bit what a
/// TextReader gives for each. Hands every context's place and scores to `visit`, in order; the
/// scores are valid for the call. Throws std::invalid_argument on an id outside the vocabulary.
using ScoresVisitor = std::function<void(size_t context, const WindowScores& scores)>;
void read_contexts(const TextMemory& memory, std::span<const std::span<const int32_t>> contexts,
                   const ScoresVisitor& visit);
/// All of them, 4 V bytes for every window.
std::vector<WindowScores> read_contexts(const TextMemory& memory,
                                        std::span<const std::span<const int32_t>> contexts);

/// The paper's recall for many contexts: by_score() of each, but from one product with the
/// vocabulary for the sum of its windows, which under the paper code is rounded as one;
/// window_scores are exact.
std::vector<NextToken> recall_contexts(const TextMemory& memory,
                                       std::span<const std::span<const int32_t>> contexts);

}  // namespace tessera
