// tessera memo recall STORE --prompt TEXT, tessera memo ask STORE

#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <iostream>
#include <memory>
#include <type_traits>

#include "program/cli/memo_answer.h"
#include "program/cli/memo_verbs.h"
#include "program/jobs/store_jobs.h"
#include "tessera/base/error.h"
#include "tessera/store/memo_store.h"

namespace tessera::cli {
namespace {

template <typename Job>
struct Command {
  std::vector<std::string> stores;
  Job job;
  std::string key_file;
  hosts::HostOptions hosts;
  bool fail = false, json = false;
};

/// Prints what is recited after a text; returns whether anything is.
using Answering = std::function<bool(const std::string& prompt)>;

/// Opens a store, or those at several hosts; brought up to date before the clock starts.
template <typename Job>
Answering open_stores(const Command<Job>& command) {
  if (hosts::is_address(command.stores.front())) {
    hosts::HostOptions options = command.hosts;
    if (!command.key_file.empty()) options.key = hosts::read_key(command.key_file);
    const auto stores = std::make_shared<hosts::StoresOfHosts>(command.stores, options);
    return [=](const std::string& prompt) {
      return answer(*stores, prompt, command.job.options(), command.json);
    };
  }
  if (command.stores.size() > 1)
    throw UsageError(
        "several stores answer together where each is served and named by its address, such as "
        "http://localhost:8080/v1/stores/books; '{}' is none",
        command.stores.front());
  const auto store = std::make_shared<store::MemoStore>(command.stores.front());
  store->memory();
  return [=](const std::string& prompt) {
    return answer(*store, prompt, command.job.options(), command.json);
  };
}

void run_recall(const Command<jobs::Recall>& command) {
  if (!open_stores(command)(command.job.prompt) && command.fail)
    throw std::runtime_error("no stored document continues this prompt");
}

/// Answers the prompts, or the lines of standard input, one after the other, from stores that are
/// opened once.
void run_ask(const Command<jobs::Ask>& command) {
  const Answering answer_prompt = open_stores(command);
  for (const std::string& prompt : command.job.prompts) answer_prompt(prompt);
  if (!command.job.prompts.empty()) return;
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  std::string line;
  const auto read = [&] {
    if (terminal) fmt::print(stderr, "> ");
    return static_cast<bool>(std::getline(std::cin, line));
  };
  while (read()) {
    if (line.empty()) continue;
    try {
      answer_prompt(line);
    } catch (const UsageError& error) {  // too short
      fmt::print(stderr, "tessera: {}\n", error.what());
    }
  }
}

template <typename Job, typename Run>
Verb& add_verb(Verb& memo, const std::shared_ptr<Command<Job>>& command, Run run) {
  Verb& verb = memo.verb(std::string(Job::kName), std::string(Job::kHelp));
  verb.option("store", command->stores,
              "The store, a folder; or the addresses of stores that 'tessera serve' serves, which "
              "answer together: http://HOST:PORT/v1/stores/NAME")
      .required();
  Option prompts = verb.options(command->job).front();
  if constexpr (std::is_same_v<Job, jobs::Ask>) prompts.required(false);  // else of standard input
  verb.option("--host-seconds", command->hosts.seconds,
              "Timeout per host request, in seconds; slower hosts are left out of the answer")
      .between(0.1, 86400);
  verb.option("--host-key-file", command->key_file,
              "File whose first line is the key that is sent to the hosts");
  verb.flag("--json", command->json, "Print everything about each token as one JSON object");
  verb.run([command, run] { run(*command); });
  return verb;
}

}  // namespace

void add_memo_recall(Verb& memo) {
  const auto command = std::make_shared<Command<jobs::Recall>>();
  add_verb(memo, command, run_recall)
      .flag("--fail", command->fail, "End with status 1 if nothing is recited");
}

void add_memo_ask(Verb& memo) {
  add_verb(memo, std::make_shared<Command<jobs::Ask>>(), run_ask);
}

}  // namespace tessera::cli
