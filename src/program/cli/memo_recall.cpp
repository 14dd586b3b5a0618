// tessera memo recall STORE --prompt TEXT, tessera memo ask STORE

#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <iostream>

#include "program/cli/memo_answer.h"
#include "program/cli/memo_verbs.h"
#include "program/jobs/store_jobs.h"
#include "tessera/base/error.h"
#include "tessera/store/memo_store.h"

namespace tessera::cli {
namespace {

struct RecallCommand {
  std::vector<std::string> stores;
  jobs::Recall recall;
  std::string key_file;
  hosts::HostOptions hosts;
  bool fail = false, json = false;
};

/// Prints what is recited after a text; returns whether anything is.
using Answering = std::function<bool(const std::string& prompt)>;

/// Opens a store, or those at several hosts; brought up to date before the clock starts.
Answering open_stores(const RecallCommand& command) {
  if (hosts::is_address(command.stores.front())) {
    hosts::HostOptions options = command.hosts;
    if (!command.key_file.empty()) options.key = hosts::read_key(command.key_file);
    const auto stores = std::make_shared<hosts::StoresOfHosts>(command.stores, options);
    return [=](const std::string& prompt) {
      return answer(*stores, prompt, command.recall.options(), command.json);
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
    return answer(*store, prompt, command.recall.options(), command.json);
  };
}

void run_recall(const RecallCommand& command) {
  if (!open_stores(command)(command.recall.prompt) && command.fail)
    throw std::runtime_error("no stored document continues this prompt");
}

/// Answers the lines of standard input, one after the other, from stores that are opened once.
void run_ask(const RecallCommand& command) {
  const Answering answer_line = open_stores(command);
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  std::string line;
  const auto read = [&] {
    if (terminal) fmt::print(stderr, "> ");
    return static_cast<bool>(std::getline(std::cin, line));
  };
  while (read()) {
    if (line.empty()) continue;
    try {
      answer_line(line);
    } catch (const UsageError& error) {  // too short
      fmt::print(stderr, "tessera: {}\n", error.what());
    }
  }
}

void add_stores(Verb& verb, RecallCommand& command) {
  verb.option("store", command.stores,
              "The store, a folder; or the addresses of stores that 'tessera serve' serves, which "
              "answer together: http://HOST:PORT/v1/stores/NAME")
      .required();
}

void add_host_options(Verb& verb, RecallCommand& command) {
  verb.option("--host-seconds", command.hosts.seconds,
              "Timeout per host request, in seconds; slower hosts are left out of the answer")
      .between(0.1, 86400);
  verb.option("--host-key-file", command.key_file,
              "File whose first line is the key that is sent to the hosts");
  verb.flag("--json", command.json, "Print everything about each token as one JSON object");
}

}  // namespace

void add_memo_recall(Verb& memo) {
  auto command = std::make_shared<RecallCommand>();
  Verb& verb = memo.verb(std::string(jobs::Recall::kName), std::string(jobs::Recall::kHelp));
  add_stores(verb, *command);
  verb.options(command->recall);
  add_host_options(verb, *command);
  verb.flag("--fail", command->fail, "End with status 1 if nothing is recited");
  verb.run([command] { run_recall(*command); });
}

void add_memo_ask(Verb& memo) {
  auto command = std::make_shared<RecallCommand>();
  Verb& verb = memo.verb("ask", "Recite after each line of standard input; the store stays open");
  add_stores(verb, *command);
  verb.options<jobs::Reciting>(command->recall);
  add_host_options(verb, *command);
  verb.run([command] { run_ask(*command); });
}

}  // namespace tessera::cli
