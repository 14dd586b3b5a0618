// tessera memo recall STORE --prompt TEXT, tessera memo ask STORE

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "program/jobs/store_jobs.h"
#include "tessera/base/error.h"
#include "tessera/hosts/stores_of_hosts.h"
#include "tessera/report/table.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/recall.h"
#include "tessera/store/store_json.h"

namespace tessera::cli {

namespace {

void print_sources(const store::Recall& recall) {
  Table table("", {"tokens", "document", "line", "position", "matched", "probability", "also in"});
  for (const auto& passage : store::passages_of(recall)) {
    const auto& source = passage.source;
    table.add_row({fmt::format("{}-{}", passage.first + 1, passage.last + 1),
                   source ? source->document : "none", source ? Cell(source->line) : Cell(),
                   source ? Cell(source->position) : Cell(), Cell(passage.matched_length),
                   Cell::fixed(passage.probability, 4),
                   fmt::format("{}", fmt::join(passage.also_in, ", "))});
  }
  fmt::print("\n{}", table.text());
}

/// Prints what a store recites after a text and the source of each token, or all about it as one
/// JSON object; returns whether it recites anything. Throws UsageError on a text that is too
/// short.
bool answer(const store::QuestionedStore& store, const std::string& prompt,
            const store::RecallOptions& options, bool json) {
  const store::Question question = store::read_question(store, prompt, options);
  store::check_prompt(store, question.tokens.size());
  Writing writing(store, question, !json);
  store::RecitedText text(store.tokenizer(), question.rest);
  const store::Recall result =
      store::recall(store, question.tokens, options,
                    [&](const memo::NextToken& token) { writing.add(text.add(token.token)); });
  writing.end(result.finish, result.tokens.size());
  if (json)
    print_json(store::json_of(store, prompt, question, result));
  else if (!result.tokens.empty())
    print_sources(result);
  std::fflush(stdout);
  return !result.tokens.empty();
}

/// The same of stores at several hosts. Those that are absent are named, on standard error or in
/// the JSON object.
bool answer(hosts::StoresOfHosts& stores, const std::string& prompt,
            const store::RecallOptions& options, bool json) {
  const auto started = std::chrono::steady_clock::now();
  const hosts::Answer answer = hosts::recall(stores, prompt, options);
  if (json) {
    print_json(hosts::json_of(stores, prompt, answer));
  } else {
    Writing writing(stores, answer.question, true, started);
    store::RecitedText text(stores.tokenizer(), answer.question.rest);
    for (const memo::NextToken& token : answer.recall.tokens) writing.add(text.add(token.token));
    writing.end(answer.recall.finish, answer.recall.tokens.size());
    if (!answer.recall.tokens.empty()) print_sources(answer.recall);
  }
  std::fflush(stdout);
  for (const auto& [address, reason] : answer.absent)
    say("answered without {}: {}\n", address, reason);
  return !answer.recall.tokens.empty();
}

template <typename Job>
struct RecallCommand {
  std::vector<std::string> stores;
  Job job;
  hosts::HostOptions host;
  bool fail = false, json = false;
};

/// Prints what is recited after a text; returns whether anything is.
using Answering = std::function<bool(const std::string& prompt)>;

/// Opens a store, or those at several hosts; brought up to date before the clock starts.
template <typename Job>
Answering open_stores(const RecallCommand<Job>& command) {
  if (hosts::is_address(command.stores.front())) {
    const auto stores = std::make_shared<hosts::StoresOfHosts>(command.stores, command.host);
    return [=](const std::string& prompt) {
      return answer(*stores, prompt, command.job, command.json);
    };
  }
  if (command.stores.size() > 1)
    throw UsageError(
        "several stores can only answer together if each is named by the address at which it is "
        "served, such as http://localhost:8080/v1/stores/books; '{}' is not an address. A text to "
        "continue is given with {}",
        command.stores.front(), std::is_same_v<Job, jobs::Ask> ? "--prompts" : "--prompt");
  const auto store = std::make_shared<store::MemoStore>(command.stores.front());
  store->memory();
  return
      [=](const std::string& prompt) { return answer(*store, prompt, command.job, command.json); };
}

void run_recall(const RecallCommand<jobs::Recall>& command) {
  if (!open_stores(command)(command.job.prompt) && command.fail)
    throw std::runtime_error("no stored document continues this prompt");
}

/// Answers the prompts, or the lines of standard input, one after the other, from stores that are
/// opened once.
void run_ask(const RecallCommand<jobs::Ask>& command) {
  const Answering answer_prompt = open_stores(command);
  for (const std::string& prompt : command.job.prompts) answer_prompt(prompt);
  if (!command.job.prompts.empty()) return;
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  std::string line;
  const auto read = [&] {
    if (terminal) say("> ");
    return static_cast<bool>(std::getline(std::cin, line));
  };
  while (read()) {
    if (line.ends_with('\r')) line.pop_back();  // of a file from Windows
    if (line.empty()) continue;
    try {
      answer_prompt(line);
    } catch (const UsageError& error) {  // too short
      say("tessera: {}\n", error.what());
    }
  }
}

template <typename Job, typename Run>
Verb& add_verb(Verb& memo, const std::shared_ptr<RecallCommand<Job>>& command, Run run) {
  Verb& verb = memo.verb(Job::kName, Job::kHelp);
  verb.option("store", command->stores,
              "The store, a folder; or the addresses of stores that 'tessera serve' serves, which "
              "answer together: http://HOST:PORT/v1/stores/NAME")
      .required();
  Option prompts = verb.options(command->job).front();
  if constexpr (std::is_same_v<Job, jobs::Ask>) prompts.required(false);  // else of standard input
  verb.options(command->host);
  verb.flag("--json", command->json, "Print everything about each token as one JSON object");
  verb.run([command, run] { run(*command); });
  return verb;
}

}  // namespace

void add_memo_recall(Verb& memo) {
  const auto command = std::make_shared<RecallCommand<jobs::Recall>>();
  add_verb(memo, command, run_recall)
      .flag("--fail", command->fail, "End with status 1 if nothing is recited");
}

void add_memo_ask(Verb& memo) {
  add_verb(memo, std::make_shared<RecallCommand<jobs::Ask>>(), run_ask).footer([] {
    return "Without --prompts the texts are read from standard input, one a line.";
  });
}

}  // namespace tessera::cli
