#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "program/serve/served_model.h"
#include "tessera/sampling/text_writer.h"

namespace tessera::serve {

/// The form of an answer's choices: of a completion; of a chat, whole or piece by piece.
enum class ChoiceForm { kText, kMessage, kDelta };

/// What is reported of a choice beside its text.
struct ChoiceReport {
  bool logprobs = false;   ///< each token with its score
  bool token_ids = false;  ///< ids of the prompt and of what is written
};

/// One choice of an answer, as it grows token by token, in OpenAI's JSON.
class Choice {
 public:
  /// The model must outlive it.
  Choice(const ServedModel& model, ChoiceForm form, ChoiceReport report);

  /// The prompt: shown (echo), or only counted, for the offsets of what follows. tokens: with their
  /// scores, if they are shown and scores are asked for.
  void add_prompt(const TokenIds& prompt, bool echo, std::span<const ScoredToken> tokens);
  void add(const Written& written);
  /// Ends without another token.
  void end(Finish reason) { finish_ = reason; }

  bool ended() const { return finish_.has_value(); }
  /// Tokens that were written.
  int64_t tokens() const { return tokens_; }
  /// Mean of their log-probabilities: what the best choices are chosen by.
  double mean_log_probability() const;
  /// Whether anything came since flush() that is worth an event.
  bool has_news() const;
  /// Whether the next flush() says who speaks, as the first event of a chat, and nothing else.
  bool begins() const { return form_ == ChoiceForm::kDelta && !begun_; }
  /// What came since the last flush(), as an entry of "choices".
  nlohmann::ordered_json flush(int64_t index);

 private:
  using Json = nlohmann::ordered_json;

  void report(const ScoredToken& token);
  Json text_report(const ScoredToken& token);
  Json content_report(const ScoredToken& token) const;
  void count(int64_t token);

  const ServedModel* model_;
  ChoiceForm form_;
  ChoiceReport report_;
  std::string text_;  // not flushed yet, as is all that is reported
  Json tokens_shown_, token_logprobs_, top_logprobs_, text_offset_;
  Json content_;               // the same in the form of a chat
  TokenIds prompt_ids_, ids_;  // read; written
  TextStream read_;            // all tokens so far, to count characters
  int64_t characters_ = 0;
  int64_t tokens_ = 0;
  double log_probability_ = 0;
  std::optional<Finish> finish_;
  bool begun_ = false;
};

}  // namespace tessera::serve
