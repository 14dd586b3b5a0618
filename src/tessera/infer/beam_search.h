#pragma once

#include <optional>
#include <vector>

#include "tessera/infer/streaming_session.h"

namespace tessera {

struct BeamOptions {
  int64_t beams = 4;
  int64_t max_tokens = 64;
  double length_exponent = 0;          ///< 0: no normalisation; 1: mean log-probability per token
  std::optional<int64_t> end_of_text;  ///< ends a hypothesis
  std::optional<Reading> reading;      ///< natural_reading() where none is given
  MemoryBound bound;                   ///< of each contextual memory

  /// Throws UsageError that names the option and what it may be.
  void check() const;
};

/// A continuation of the prompt.
struct Hypothesis {
  Tokens tokens;               ///< the end-of-text token included
  double log_probability = 0;  ///< of all tokens, nats
  double score = 0;            ///< log_probability / length^length_exponent
  bool ended = false;          ///< with end of text, not with max_tokens
};

/// Looks for the continuation with the highest score: at every length the `beams` most probable
/// beginnings go on, and each of them may also end there. Returns at most `beams` hypotheses, best
/// first. It stops as soon as no beginning can come to beat those that have ended. While an
/// InterruptGuard lives, a signal ends it between two tokens with what there is. Throws
/// c10::ValueError on an empty prompt, UsageError on options that make no sense,
/// std::invalid_argument on logits that are NaN or infinite.
std::vector<Hypothesis> beam_search(LanguageModel& model, const Tokens& prompt,
                                    const BeamOptions& options);

}  // namespace tessera
