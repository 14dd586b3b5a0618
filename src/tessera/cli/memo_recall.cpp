// tessera memo recall STORE --prompt TEXT, tessera memo ask STORE

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "tessera/base/error.h"
#include "tessera/cli/memo_answer.h"
#include "tessera/cli/memo_verbs.h"

namespace tessera::cli {
namespace {

struct RecallCommand {
  std::string store, prompt;
  store::RecallOptions recall;
  bool fail = false, json = false;
};

void check_error_rate(const RecallCommand& command, const store::MemoStore& store) {
  if (store.config().memory.code == memo::WindowCodeKind::kPaper &&
      command.recall.error_rate != store::kErrorRate)
    throw UsageError("--error-rate works with the bound code only; this store has the paper's");
}

void run_recall(const RecallCommand& command) {
  const store::MemoStore store(command.store);
  check_error_rate(command, store);
  store.memory();  // brought up to date before the clock starts
  if (!answer(store, command.prompt, command.recall, command.json) && command.fail)
    throw std::runtime_error("nothing stored continues the prompt");
}

/// Answers the lines of standard input, one after the other, from a store that is read once.
void run_ask(const RecallCommand& command) {
  const store::MemoStore store(command.store);
  check_error_rate(command, store);
  store.memory();
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  std::string line;
  const auto read = [&] {
    if (terminal) fmt::print(stderr, "> ");
    return static_cast<bool>(std::getline(std::cin, line));
  };
  while (read()) {
    if (line.empty()) continue;
    try {
      answer(store, line, command.recall, command.json);
    } catch (const std::invalid_argument& error) {  // too short
      fmt::print(stderr, "tessera: {}\n", error.what());
    }
  }
}

void add_recall_options(Verb& verb, RecallCommand& command) {
  verb.option("--tokens", command.recall.tokens, "Most tokens to recite").at_least(0);
  verb.option("--error-rate", command.recall.error_rate,
              "How often a text that was never stored may pass for a stored one; the recital stops "
              "when the match falls below this level")
      .between(1e-300, 0.999999);
  verb.option("--sources", command.recall.sources, "Sources to look up for each token, best first")
      .between(1, 1000);
  verb.flag("--json", command.json, "Print everything about each token as one JSON object");
}

}  // namespace

void add_memo_recall(Verb& memo) {
  auto command = std::make_shared<RecallCommand>();
  Verb& verb =
      memo.verb("recall", "Recite what is stored after a text and name the source of each token");
  add_store(verb, command->store);
  verb.option("--prompt", command->prompt, "Text to continue").required();
  add_recall_options(verb, *command);
  verb.flag("--fail", command->fail, "End with status 1 if nothing is recited");
  verb.run([command] { run_recall(*command); });
}

void add_memo_ask(Verb& memo) {
  auto command = std::make_shared<RecallCommand>();
  Verb& verb = memo.verb("ask", "Recite after each line of standard input; the store stays open");
  add_store(verb, command->store);
  add_recall_options(verb, *command);
  verb.run([command] { run_ask(*command); });
}

}  // namespace tessera::cli
