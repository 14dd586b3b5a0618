#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/memo/readable_memory.h"
#include "tessera/memo/window_scores.h"

namespace tessera::memo {

/// Reads a text token by token and scores every token of the vocabulary as the next one. Each read
/// costs one pass over C (in shards: over one shard for each window), however much text came
/// before, and sees what the memory holds at the time.
class TextReader {
 public:
  /// memory must outlive the reader and keep its configuration.
  explicit TextReader(const ReadableMemory& memory);

  /// Throws UsageError on an id outside the vocabulary.
  void append(int32_t token);
  /// Valid until the next call.
  const WindowScores& scores();
  /// The paper's recall, as recall_contexts() gives it. noise: TextMemory::noise().
  NextToken recall(double noise) const;

 private:
  const ReadableMemory* memory_;
  std::unique_ptr<WindowStream> stream_;
  size_t read_ = 0;  // tokens
  WindowScores scores_;
};

/// The same for many contexts at once, by matrix products over all of them: the same bits as a
/// TextReader for each. Calls `visit` with every context's index and scores, in order; the scores
/// are valid during the call. Throws UsageError on an id outside the vocabulary.
using ScoresVisitor = std::function<void(size_t context, const WindowScores& scores)>;
void read_contexts(const ReadableMemory& memory, std::span<const std::span<const int32_t>> contexts,
                   const ScoresVisitor& visit);
/// All scores at once: 4 V bytes for every window.
std::vector<WindowScores> read_contexts(const ReadableMemory& memory,
                                        std::span<const std::span<const int32_t>> contexts);

/// The paper's recall for many contexts: by_score() of each, but with one product with the
/// vocabulary for the sum of a context's windows, which the paper code rounds once; window_scores
/// are exact.
std::vector<NextToken> recall_contexts(const ReadableMemory& memory,
                                       std::span<const std::span<const int32_t>> contexts);

}  // namespace tessera::memo
