// tessera memo complete STORE --prompt TEXT

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "program/cli/memo_verbs.h"
#include "program/cli/memo_writing.h"
#include "program/cli/program.h"
#include "tessera/base/config.h"
#include "tessera/base/interrupt.h"
#include "tessera/sampling/sampling.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/recall.h"

namespace tessera::cli {
namespace {

using config::Json;

struct CompleteCommand {
  std::string store, prompt;
  int64_t tokens = 50;
  SamplingOptions sampling;
  bool json = false;
};

/// One token drawn from what the memory holds possible.
int32_t draw(store::StoreReader& reader, std::span<const int64_t> context,
             const SamplingOptions& sampling) {
  std::vector<float> logits;
  for (const double probability : reader.probabilities())
    logits.push_back(static_cast<float>(std::log(probability)));
  return static_cast<int32_t>(draw_token(logits, context, sampling, 0).token);
}

using TakeToken = std::function<void(int32_t token)>;

/// Draws token after token.
store::RecallEnd draw_tokens(const store::MemoStore& store, const CompleteCommand& command,
                             std::span<const int32_t> prompt, const TakeToken& take) {
  store::StoreReader reader(store);
  reader.append(prompt);
  std::vector<int64_t> context(prompt.begin(), prompt.end());
  for (int64_t i = 0; i < command.tokens && !InterruptGuard::interrupted(); ++i) {
    if (!store::goes_on(reader.next(), i > 0)) return store::RecallEnd::kNotStored;
    const int32_t token = draw(reader, context, command.sampling);
    if (token == store.tokenizer().end_of_text()) return store::RecallEnd::kEndOfDocument;
    reader.append(token);
    context.push_back(token);
    take(token);
  }
  return store::RecallEnd::kEnoughTokens;
}

/// At temperature 0 there is nothing to draw: what follows is what is recited.
store::RecallEnd complete(const store::MemoStore& store, const CompleteCommand& command,
                          std::span<const int32_t> prompt, const TakeToken& take) {
  if (command.sampling.temperature > 0) return draw_tokens(store, command, prompt, take);
  return store::recall(store, prompt, {.tokens = command.tokens},
                       [&](const memo::NextToken& token) { take(token.token); })
      .end;
}

void run_complete(const CompleteCommand& command) {
  const store::MemoStore store(command.store);
  command.sampling.check();
  const store::Question question = store::read_question(store, command.prompt);
  store::check_prompt(store, question.tokens);
  Json tokens = Json::array();
  const InterruptGuard interrupt;
  Writing writing(store, question, !command.json);
  const store::RecallEnd end = complete(store, command, question.tokens, [&](int32_t token) {
    tokens.push_back({{"id", token}, {"text", store.tokenizer().token_bytes(token)}});
    writing.add(token);
  });
  writing.end(end);
  if (command.json)
    print_json({{"prompt", command.prompt},
                {"read_as", question.text},
                {"text", writing.text()},
                {"end", config::enum_name(end)},
                {"tokens", tokens}});
  if (InterruptGuard::interrupted()) throw Interrupted("interrupted");
}

}  // namespace

void add_memo_complete(Verb& memo) {
  auto command = std::make_shared<CompleteCommand>();
  Verb& verb = memo.verb(
      "complete", "Continue a text with tokens sampled from what is stored after its last tokens");
  add_store(verb, command->store);
  verb.option("--prompt", command->prompt, "Text to continue").required();
  verb.option("--tokens", command->tokens, "Maximum number of tokens to generate").at_least(0);
  verb.option("--temperature", command->sampling.temperature,
              "Divides the log-probabilities; 0 recites, as recall does");
  verb.option("--top-k", command->sampling.top_k,
              "Sample from the k most probable tokens (0: all)");
  verb.option("--top-p", command->sampling.top_p,
              "Sample from the smallest set of tokens that together have this probability");
  verb.option("--seed", command->sampling.seed, "Random seed; the same seed gives the same text");
  verb.flag("--json", command->json, "Print one JSON object");
  verb.run([command] { run_complete(*command); });
}

}  // namespace tessera::cli
