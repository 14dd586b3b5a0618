#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/data/token_memory.h"
#include "tessera/infer/scoring.h"
#include "tessera/infer/streaming_session.h"
#include "tessera/sampling/text_writer.h"

namespace tessera {

struct Prompt {
  Tokens tokens;
  /// Number of the random sequence: equal prompts with equal numbers give equal texts; number the
  /// samples of one prompt 0, 1, 2, …
  uint64_t sequence = 0;
};

/// An end of text also stands for an empty prompt.
struct GenerateOptions : WritingOptions {
  bool echo = false;               ///< the tokens of the prompt come first, scored
  std::optional<Reading> reading;  ///< natural_reading() where none is given
  MemoryBound bound;               ///< of each contextual memory
  /// Mixed with the model as MemoryMixture does, which learns its weights from the model's last
  /// window of the prompt and from what is generated. Not owned. Prompts are scored by the model
  /// alone.
  const TokenMemory* memory = nullptr;
};

/// One generated token, as soon as it is there.
struct GeneratedToken {
  size_t prompt;             ///< index of its prompt
  const ScoredToken& token;  ///< scored by the model's own distribution, mixed with the memory's
  std::string_view text;     ///< what has become final: whole characters, no part of a stop string
  std::optional<Finish> finish;  ///< on the last token of a prompt
};
/// Returns whether to go on with this prompt.
using OnToken = std::function<bool(const GeneratedToken&)>;

struct Generation {
  /// All that were drawn, the end-of-text token and those of a stop string included; with echo,
  /// after those of the prompt.
  std::vector<ScoredToken> tokens;
  std::string text;  ///< of the generated tokens, without end of text and stop string
  Finish finish = Finish::kMaxTokens;
};

/// Continues every prompt. Each comes out as it would alone (to rounding: sums are done in another
/// order when the batch has another size). While an InterruptGuard lives, a signal ends all texts
/// between two tokens; what was held back is then in Generation::text. Throws Interrupted where the
/// signal comes while long prompts are read; UsageError on options that make no sense and on an
/// empty prompt without end_of_text; as draw_token() does on NaN or infinite logits; and what
/// LanguageModel::read throws.
std::vector<Generation> generate(LanguageModel& model, const std::vector<Prompt>& prompts,
                                 const GenerateOptions& options, const OnToken& on_token = {});

/// Goes on with the one sequence of a session, for which everything that it has read is the prompt;
/// afterwards the session has read the continuation, too, the tokens of a stop string and end of
/// text included. options.reading, bound and echo play no part: they are the session's. Throws as
/// generate() does, and UsageError with a memory, and unless the session holds one
/// sequence.
Generation continue_text(StreamingSession& session, const GenerateOptions& options,
                         const OnToken& on_token = {}, uint64_t sequence = 0);

}  // namespace tessera
