#include "program/jobs/tokenizer_jobs.h"

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"

namespace tessera::jobs {

Encode::Answer Encode::run(const Tokenizer& tokenizer) const {
  const auto ids =
      tokenizer.encode(text, special ? SpecialTokens::kRecognised : SpecialTokens::kAsText);
  return {{ids.begin(), ids.end()}};
}

config::Json Encode::Answer::json() const {
  return {{"tokens", tokens}, {"count", tokens.size()}};
}

Decode::Answer Decode::run(const Tokenizer& tokenizer) const {
  Answer answer;
  for (const int64_t token : tokens) {
    check_argument(token >= 0 && token < tokenizer.vocabulary_size() &&
                       tokenizer.has_token(static_cast<int32_t>(token)),
                   "the tokenizer has no token {}, its ids go up to {}", token,
                   tokenizer.vocabulary_size() - 1);
    answer.text += tokenizer.token_bytes(static_cast<int32_t>(token));
  }
  return answer;
}

config::Json Decode::Answer::json() const {
  return {{"text", text}};
}

}  // namespace tessera::jobs
