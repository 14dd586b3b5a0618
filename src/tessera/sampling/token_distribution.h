#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera {

/// A token and its log-probability under the model, nats.
struct TokenChoice {
  int64_t token;
  double log_probability;
};

/// A token of a text with what the model thought of it, before penalty, temperature or truncation.
struct ScoredToken {
  int64_t token;
  /// Nats; none where the model had read nothing before it.
  std::optional<double> log_probability;
  bool greedy = false;  ///< whether it is the model's first choice
  /// The most probable tokens there, best first.
  std::vector<TokenChoice> alternatives;
};

/// The model's own distribution over the next token: the softmax of its logits. The logits [V]
/// stay with the caller and must outlive it.
class TokenDistribution {
 public:
  /// Throws UsageError where a logit is NaN or +infinity, or where none is finite;
  /// -infinity is a token that cannot come.
  explicit TokenDistribution(std::span<const float> logits);

  /// Throws UsageError on a token outside the vocabulary.
  double log_probability(int64_t token) const;
  /// The most probable token, of equals the one with the lowest id.
  int64_t most_probable() const { return most_probable_; }
  /// The `count` (at most V) most probable tokens, best first, equals by their ids.
  std::vector<TokenChoice> most_probable(int64_t count) const;
  /// This token, with that many alternatives. Throws as log_probability() does.
  ScoredToken score(int64_t token, int64_t alternatives) const;

 private:
  std::span<const float> logits_;
  int64_t most_probable_ = 0;
  double log_normaliser_ = 0;
};

/// Ids of the `count` (at most V) largest of `logits`, largest first, equals by their ids.
std::vector<int64_t> largest(std::span<const float> logits, int64_t count);

}  // namespace tessera
