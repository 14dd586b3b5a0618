#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "tessera/data/token_memory.h"

namespace tessera {

/// A model's distribution of the next token of one text, mixed with what a memory of texts holds:
///
///   p(y) = sum over m of q_m (a_m s_m(y) + (1 - a_m) p_model(y)).
///
/// m is the length of the longest end of the text that was stored; s_m is the memory's distribution
/// over the tokens that were stored after it, and s_0 how often each token occurs in the memory.
/// q_m is the posterior of m: its likelihood ratio, which the memory gives, times its share c_m of
/// the tokens so far. a_m is the probability that the text then goes on as it was stored. Both are
/// learned from the text itself (Krichevsky and Trofimov 1981): if n of its tokens were read, n_m
/// of them at length m, of which h_m as they were stored, as far as can be expected from what was
/// seen,
///
///   c_m = (n_m + 1/2) / sum over i of (n_i + 1/2),   a_m = (h_m + 1/2) / (n_m + 1).
///
/// So no weight is tuned. A text that was stored soon follows the memory, and one that shares only
/// phrases with it the model.
/// Differs from the kNN-LM (Khandelwal et al. 2020), where one tuned weight holds for all tokens.
class MemoryMixture {
 public:
  /// The memory must outlive it.
  explicit MemoryMixture(const TokenMemory& memory);

  /// The model's logits [V] of the next token.
  void predict(std::span<const float> logits);
  /// log p(y) - log p_model(y), nats: 0, exactly, with an empty memory.
  double log_gain(int64_t token) const;
  /// Adds log_gain() to the logits [V] that predict() was given; with an empty memory they keep
  /// their bits.
  void mix(std::span<float> logits) const;
  /// The text goes on with this token. If it was predicted, c_m and a_m are learned from it.
  void append(int64_t token);

 private:
  /// n_m and h_m.
  struct Counts {
    double read = 0, stored = 0;
    double agreement() const { return (stored + 0.5) / (read + 1); }
  };
  /// What is assumed of the next token at one m.
  struct Length {
    Counts* counts;
    double probability;  // q_m
    double agreement;    // a_m
  };

  void weigh();
  double weight(size_t m) const { return lengths_[m].probability * lengths_[m].agreement; }
  double share(size_t m, int64_t token) const;
  double log_kept() const;
  double log_gain(int64_t token, double stored, double kept) const;

  std::unique_ptr<TokenMemory::Reader> reader_;
  std::vector<double> frequencies_;   // s_0
  std::map<int64_t, Counts> counts_;  // by length
  std::vector<double> log_model_;     // log p_model [V]; empty: nothing is predicted
  std::vector<StoredContinuation> continuations_;
  std::vector<Length> lengths_;  // 0, and those of continuations_
};

}  // namespace tessera
