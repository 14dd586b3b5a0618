#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "program/cli/verb.h"

namespace tessera::cli {

/// Exit statuses of the program.
enum ExitStatus : int { kDone = 0, kFailed = 1, kWrongUsage = 2, kBadData = 3, kInterrupted = 130 };

/// The verbs that need no LibTorch: `memo`, `plan` and `tokenizer`.
void add_light_verbs(Verb& program);
void add_memo(Verb& program);
void add_plan(Verb& program);
void add_tokenizer(Verb& program);

/// The verb `manual`: pages and completions of all verbs of the program.
void add_manual(Verb& program);

/// A set of verbs and how their actions are run.
struct VerbSet {
  std::function<void(Verb& program)> add;
  /// Runs an action with so many threads.
  std::function<void(int threads, const std::function<void()>& action)> run;
};

/// The program `tessera` with these verbs, which end in an exit status.
int run_program(int argc, char** argv, const VerbSet& verbs);

/// One line: "tessera 0.1.0 (00e3a1b)".
void print_version();

/// One line of JSON on standard output. JSON holds UTF-8 only: any other byte becomes U+FFFD.
void print_json(const nlohmann::ordered_json& json);

}  // namespace tessera::cli
