#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/config.h"

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
  /// -infinity is a token that cannot come. Throws std::runtime_error where a logit is NaN or
  /// +infinity; UsageError where none is finite.
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

/// How the next token is drawn from the model's logits. The steps, in their order, which is that of
/// Hugging Face transformers and, as to penalties, of vLLM; c is how often a token was generated:
///
///   1. logit bias            logit += bias
///   2. repetition penalty r  of every token of the context, the prompt included:
///                            logit > 0 ? logit / r : logit * r   (Keskar et al. 2019, section 4.1,
///                            in the form that also pushes negative logits down)
///   3. frequency penalty f,  of every generated token (OpenAI API reference):
///      presence penalty p    logit -= c f + [c > 0] p
///   4. temperature t         logit /= t; 0 takes the highest logit, and nothing below matters
///   5. top-k                 the k most probable tokens stay
///   6. top-p                 of those, the fewest that together have probability p (nucleus,
///                            Holtzman et al. 2020)
///   7. min-p                 of those, the ones at least min_p times as probable as the first
///                            (Nguyen et al. 2024)
///
/// From what is left one token is drawn by its probability. The defaults change nothing.
struct SamplingOptions {
  double temperature = 1.0;
  int64_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  double repetition_penalty = 1.0;
  double frequency_penalty = 0.0;
  double presence_penalty = 0.0;
  std::map<int64_t, double> logit_bias = {};  ///< by token; -infinity forbids it
  uint64_t seed = 0;
  int64_t alternatives = 0;  ///< most probable tokens that are reported beside the one drawn

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("temperature", temperature, "divides the logits; 0 always takes the most probable token",
          config::at_least(0));
    field("top_k", top_k, "sample from the k most probable tokens (0: all)", config::at_least(0));
    field("top_p", top_p,
          "sample from the smallest set of tokens that together have this probability",
          config::above(0, 1));
    field("min_p", min_p,
          "sample from the tokens at least this many times as probable as the most probable one",
          config::between(0, 1));
    field("repetition_penalty", repetition_penalty,
          "above 1: tokens that the context contains become less probable",
          config::between(1e-3, 1e3));
    field("frequency_penalty", frequency_penalty,
          "subtracted from a token's logit for each time that it was generated");
    field("presence_penalty", presence_penalty,
          "subtracted from the logit of every token that was generated");
    field("seed", seed, "random seed; the same seed gives the same text");
  }

  /// Throws UsageError that names the option and what it may be.
  void check() const;
};

/// Draws the token that follows `context`, whose first `prompt` tokens were given and the others
/// generated. The draw is a pure function of logits, options, `sequence` and context, whatever else
/// is generated beside it; the random number depends on seed, `sequence` and the length of the
/// context alone. Its scores are the model's own. Throws UsageError on options that make no sense
/// or leave no token and on ids outside the vocabulary, and as TokenDistribution does.
ScoredToken draw_token(std::span<const float> logits, std::span<const int64_t> context,
                       const SamplingOptions& options, uint64_t sequence, size_t prompt = 0);

}  // namespace tessera
