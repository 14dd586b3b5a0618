#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/infer/token_distribution.h"

namespace tessera {

/// How the next token is drawn from the model's logits, in this order: repetition penalty,
/// temperature, top-k, top-p.
struct SamplingOptions {
  double temperature = 1.0;
  int64_t top_k = 0;
  double top_p = 1.0;
  double repetition_penalty = 1.0;
  uint64_t seed = 0;
  int64_t alternatives = 0;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("temperature", temperature, "divides the logits; 0 takes the most probable token");
    field("top_k", top_k, "draw from the k most probable tokens; 0 for all");
    field("top_p", top_p, "draw from the fewest tokens that together have this probability");
    field("repetition_penalty", repetition_penalty,
          "above 1 makes tokens of the context less probable");
    field("seed", seed, "same seed, same text");
    field("alternatives", alternatives, "report this many of the most probable tokens");
  }

  /// Throws UsageError that names the option and what it may be.
  void check() const;
};

/// Draws the token that follows `context` (its ids matter to the repetition penalty, its length to
/// the random number). The draw is a pure function of logits, seed, `sequence` and the length of
/// the context, whatever else is generated beside it. Its scores are the model's own. Nucleus:
/// Holtzman et al. 2020; penalty: Keskar et al. 2019, section 4.1, in the form that also pushes
/// negative logits down. Throws std::invalid_argument on logits that are NaN or infinite.
ScoredToken draw_token(std::span<const float> logits, std::span<const int64_t> context,
                       const SamplingOptions& options, uint64_t sequence);

}  // namespace tessera
