#pragma once

#include <optional>
#include <vector>

#include "tessera/infer/streaming_session.h"

namespace tessera {

struct BeamOptions {
  int64_t beams = 4;
  int64_t max_tokens = 64;
  /// Exponent of the length that a score is divided by. 0: log-probabilities, which prefer short
  /// texts; 1: their mean per token; above: long texts are preferred.
  double length_penalty = 1;
  std::optional<int64_t> end_of_text = {};  ///< ends a hypothesis
  std::optional<Reading> reading = {};      ///< natural_reading() where none is given
  MemoryBound bound = {};                   ///< of each contextual memory

  /// Throws UsageError that names the option and what it may be.
  void check() const;
};

/// A continuation of the prompt.
struct Hypothesis {
  Tokens tokens;               ///< the end-of-text token included
  double log_probability = 0;  ///< of all tokens, nats
  double score = 0;            ///< log_probability / length^length_penalty
  bool ended = false;          ///< with end of text, not with max_tokens
};

/// Looks for the continuation Y with the highest score
///
///     log p(Y | prompt) / |Y|^length_penalty
///
/// where |Y| counts the end-of-text token but not the prompt: the length penalty and its default as
/// in Hugging Face transformers (BeamHypotheses.add), a form of Wu et al. 2016, eq. 14. At every
/// length the `beams` most probable beginnings go on, and each of them may also end there. Returns
/// at most `beams` hypotheses, best first. The search stops at max_tokens, or as soon as no
/// beginning can come to beat those that have ended.
///
/// While an InterruptGuard lives, a signal ends it with what there is, or, while it reads a long
/// prompt, with Interrupted. Throws UsageError on an empty prompt, on options that make no sense
/// and on a search that would need more memory than the machine has, and as TokenDistribution does
/// on NaN or infinite logits.
std::vector<Hypothesis> beam_search(LanguageModel& model, const Tokens& prompt,
                                    const BeamOptions& options);

/// Bytes that the search takes at its longest, about.
double beam_search_bytes(LanguageModel& model, int64_t prompt_tokens, const BeamOptions& options);

}  // namespace tessera
