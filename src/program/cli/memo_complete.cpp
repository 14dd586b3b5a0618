// tessera memo complete STORE --prompt TEXT

#include <nlohmann/json.hpp>

#include "program/cli/memo_verbs.h"
#include "program/cli/memo_writing.h"
#include "program/cli/program.h"
#include "tessera/base/config.h"
#include "tessera/base/interrupt.h"
#include "tessera/store/complete.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/recall.h"

namespace tessera::cli {
namespace {

using config::Json;

struct CompleteCommand {
  std::string store, prompt;
  WritingOptions writing{.max_tokens = 50};
  bool json = false;
};

void run_complete(const CompleteCommand& command) {
  const store::MemoStore store(command.store);
  command.writing.sampling.check();
  const store::Question question = store::read_question(store, command.prompt);
  store::check_prompt(store, question.tokens.size());
  std::string text;
  Json tokens = Json::array();
  const InterruptGuard interrupt;
  const Writing writing(store, question, !command.json);
  const Finish finish =
      store::complete(store, question, command.writing, [&](const Written& written) {
        writing.add(written.text);
        text += written.text;
        if (!written.token || written.finish == Finish::kEndOfText) return;
        const auto id = static_cast<int32_t>(written.token->token);
        tokens.push_back({{"id", id}, {"text", store.tokenizer().token_bytes(id)}});
      });
  writing.end(finish, tokens.size());
  if (command.json)
    print_json({{"prompt", command.prompt},
                {"read_as", question.text},
                {"text", text},
                {"finish", config::enum_name(finish)},
                {"tokens", tokens}});
  InterruptGuard::stop_if_interrupted("interrupted");
}

}  // namespace

void add_memo_complete(Verb& memo) {
  auto command = std::make_shared<CompleteCommand>();
  Verb& verb = memo.verb(
      "complete", "Continue a text with tokens sampled from what is stored after its last tokens");
  add_store(verb, command->store);
  verb.option("--prompt", command->prompt, "Text to continue").required();
  verb.option("--tokens", command->writing.max_tokens, "Maximum number of tokens to generate")
      .at_least(0);
  verb.options(command->writing.sampling);
  verb.flag("--json", command->json, "Print one JSON object");
  verb.run([command] { run_complete(*command); });
}

}  // namespace tessera::cli
