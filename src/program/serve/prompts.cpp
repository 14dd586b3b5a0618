#include "program/serve/prompts.h"

#include "program/serve/api_error.h"
#include "program/serve/served_store.h"
#include "program/serve/service.h"
#include "tessera/store/question.h"

namespace tessera::serve {
namespace {

// Bytes of an answer, about: of a token's text, of its entry among the scores, of an alternative.
constexpr double kTextBytes = 8, kScoreBytes = 80, kAlternativeBytes = 40;
// Each text of a request keeps its stop texts and its biases.
constexpr double kBiasBytes = 64;           // of a bias, about
constexpr double kMostKeptBytes = 1 << 26;  // of all texts

/// The ids of a prompt; an empty one begins a new text. A store takes a text as people type it, as
/// recall does, unless the prompt is to be shown with its own tokens.
ReadPrompt read_prompt(const PromptContent& content, const CompletionRequest& request,
                       const ServedModel& model, const Unwanted& unwanted) {
  ReadPrompt prompt;
  if (const auto* given = std::get_if<TokenIds>(&content)) {
    prompt.tokens = *given;
  } else {  // a chat's text is not a program's own
    const auto& text = std::get<std::string>(content);
    const auto special = request.chat ? SpecialTokens::kAsText : SpecialTokens::kRecognised;
    prompt.tokens = encoded_text(model, text, special, "prompt");
    const auto read_typed = [&](const ServedStore::Snapshot& snapshot) {
      store::Question question = store::read_question(snapshot.store, text);
      prompt.tokens.assign(question.tokens.begin(), question.tokens.end());
      prompt.rest = std::move(question.rest);
    };
    if (model.store && !request.echo) model.store->read(read_typed, unwanted);
  }
  const int64_t V = model.engine->vocabulary();
  for (const int64_t id : prompt.tokens)
    if (id >= V)
      throw ApiError(400, "the prompt holds token {}, the model's ids go up to {}", id, V - 1)
          .about("prompt");
  if (const auto end = model.tokenizer.end_of_text(); prompt.tokens.empty() && end)
    prompt.tokens = {*end};
  if (prompt.tokens.empty())
    throw ApiError(400, "the prompt is empty, and the tokenizer has no end of text to begin with")
        .about("prompt");
  return prompt;
}

}  // namespace

std::vector<ReadPrompt> read_prompts(const CompletionRequest& request, const ServedModel& model,
                                     const Unwanted& unwanted) {
  std::vector<ReadPrompt> prompts;
  for (const auto& content : request.prompts)
    prompts.push_back(read_prompt(content, request, model, unwanted));
  return prompts;
}

void check_request_size(const CompletionRequest& request, const std::vector<ReadPrompt>& prompts,
                        const Service& service, const ServedModel& model) {
  const double most = service.limits.tokens_per_request;
  const double candidates = request.best_of;
  double read = 0;
  for (const auto& [prompt, rest] : prompts)
    read += candidates * static_cast<double>(prompt.size());
  const double written = candidates * static_cast<double>(prompts.size()) *
                         static_cast<double>(request.writing.max_tokens);
  if (read + written > most)
    throw ApiError(413,
                   "the request's texts have {:.0f} tokens to be read and {:.0f} to be written, "
                   "expected at most {:.0f} in all (--max-tokens-per-request)",
                   read, written, most)
        .about("max_tokens");
  const SamplingOptions& sampling = request.writing.sampling;
  double kept = kBiasBytes * static_cast<double>(sampling.logit_bias.size());
  for (const std::string& stop : request.writing.stop) kept += static_cast<double>(stop.size());
  kept *= candidates * static_cast<double>(prompts.size());
  if (kept > kMostKeptBytes)
    throw ApiError(413,
                   "'stop' and 'logit_bias' take {:.1f} MB in all texts of the request together, "
                   "expected at most {:.1f}; shorten them, or ask for fewer texts",
                   kept / 1e6, kMostKeptBytes / 1e6)
        .about(request.writing.stop.empty() ? "logit_bias" : "stop");
  double token_bytes = kTextBytes;
  if (request.logprobs)
    token_bytes += kScoreBytes + kAlternativeBytes * static_cast<double>(*request.logprobs);
  service.check_answer(token_bytes * ((request.echo ? read : 0) + written),
                       "texts, tokens or log-probabilities");
  for (const auto& [token, bias] : sampling.logit_bias)
    if (token >= model.engine->vocabulary())
      throw ApiError(400, "'logit_bias' names token {}, the model's ids go up to {}", token,
                     model.engine->vocabulary() - 1)
          .about("logit_bias");
}

}  // namespace tessera::serve
