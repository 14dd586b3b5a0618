#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/memo/readable_memory.h"

namespace tessera::memo {

/// For each window that ends a context, shortest first, the score of every token as the next one:
/// about 1 for a token that was stored once with the window, about 0 for others, each with the
/// memory's noise.
class WindowScores {
 public:
  /// Makes room for the scores of windows of these lengths, in tokens, ascending: to be written
  /// afterwards, in the place of others.
  void reset(std::span<const int64_t> lengths, int64_t vocabulary) {
    lengths_.assign(lengths.begin(), lengths.end());
    vocabulary_ = vocabulary;
    scores_.resize(lengths.size() * vocabulary);
    noise_.assign(lengths.size(), 0.0);
  }

  /// k, the number of window lengths that the context can fill.
  int64_t windows() const { return std::ssize(lengths_); }
  int64_t vocabulary() const { return vocabulary_; }
  /// In tokens, ascending.
  std::span<const int64_t> lengths() const { return lengths_; }
  /// The scores [V] of one window.
  std::span<const float> window(int64_t k) const {
    return {scores_.data() + k * vocabulary_, static_cast<size_t>(vocabulary_)};
  }
  std::span<float> window(int64_t k) {
    return {scores_.data() + k * vocabulary_, static_cast<size_t>(vocabulary_)};
  }

  /// Standard deviation of the window's scores for tokens that were not stored with it, as far as
  /// what was retrieved for this window tells; 0 if it tells nothing.
  double noise(int64_t k) const { return noise_[k]; }
  void set_noise(int64_t k, double noise) { noise_[k] = noise; }

  /// One token's scores, shortest window first.
  std::vector<float> of_token(int32_t token) const {
    std::vector<float> scores;
    for (int64_t k = 0; k < windows(); ++k) scores.push_back(window(k)[token]);
    return scores;
  }

 private:
  std::vector<int64_t> lengths_;
  int64_t vocabulary_ = 0;
  std::vector<float> scores_;
  std::vector<double> noise_;
};

/// The token that a memory expects next, and how sure it is.
struct NextToken {
  int32_t token = 0;
  double score = 0;        ///< sum of the token's scores over the windows that were matched
  double probability = 0;  ///< of the token; includes the chance that nothing was stored here
  double evidence = 0;     ///< log M, in nats: "a stored text continues here" against "none does"
  int64_t matched_length = 0;  ///< tokens of the longest window matched; 0: probably none
  bool recalled = false;       ///< whether the evidence is above the threshold; else it is a guess
  std::vector<float> window_scores;  ///< the token's score in each window, shortest window first
};

/// The paper's decoder: the token with the largest sum of scores over all windows (Zanzotto et al.
/// 2025, eq. 4 and sec. 3.2), the first of equals. It counts as recalled where the sum is above
/// noise sqrt(2 k ln V), about the largest sum that V tokens reach by noise alone. Its probability
/// is that of LikelihoodDecoder, if only the longest window is considered and all tokens have equal
/// prior probability. noise: TextMemory::noise().
NextToken by_score(const WindowScores& scores, double noise);

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
/// are exact. visit: gets the scores as from read_contexts(), of the same reads of the memory.
std::vector<NextToken> recall_contexts(const ReadableMemory& memory,
                                       std::span<const std::span<const int32_t>> contexts,
                                       const ScoresVisitor& visit = {});

}  // namespace tessera::memo
