// tessera memo complete STORE --prompt TEXT

#include <memory>
#include <nlohmann/json.hpp>

#include "program/cli/memo_verbs.h"
#include "program/cli/memo_writing.h"
#include "program/cli/program.h"
#include "program/jobs/store_jobs.h"
#include "tessera/base/config.h"
#include "tessera/base/interrupt.h"
#include "tessera/store/memo_store.h"

namespace tessera::cli {
namespace {

struct CompleteCommand {
  std::string store;
  jobs::Complete complete;
  bool json = false;
};

void run_complete(const CompleteCommand& command) {
  const store::MemoStore store(command.store);
  const store::Question question = command.complete.question(store);
  const InterruptGuard interrupt;
  const Writing writing(store, question, !command.json);
  const auto answer = command.complete.run(
      store, question, [&](const Written& written) { writing.add(written.text); });
  writing.end(answer.finish, answer.tokens.size());
  if (command.json) print_json(answer.json());
  InterruptGuard::stop_if_interrupted("interrupted");
}

}  // namespace

void add_memo_complete(Verb& memo) {
  auto command = std::make_shared<CompleteCommand>();
  Verb& verb = memo.verb(std::string(jobs::Complete::kName), std::string(jobs::Complete::kHelp));
  add_store(verb, command->store);
  verb.options(command->complete);
  verb.flag("--json", command->json, "Print one JSON object");
  verb.run([command] { run_complete(*command); });
}

}  // namespace tessera::cli
