#pragma once

#include <CLI/CLI.hpp>
#include <stdexcept>

#include "tessera/base/config.h"

namespace tessera::cli {

/// Exit statuses of the program.
enum ExitStatus : int { kDone = 0, kFailed = 1, kWrongUsage = 2, kBadData = 3, kInterrupted = 130 };

/// Options that every verb understands.
struct GlobalOptions {
  int threads = 0;  ///< 0: one per core
};

/// Each adds one verb with its options to the program; what the verb does runs after parsing.
void add_train(CLI::App& program);
void add_generate(CLI::App& program);
void add_eval(CLI::App& program);
void add_forward(CLI::App& program);
void add_import(CLI::App& program);
void add_export(CLI::App& program);
void add_tokenizer(CLI::App& program);
void add_data(CLI::App& program);
void add_plan(CLI::App& program);
void add_study(CLI::App& program);
void add_memo(CLI::App& program);

/// The verbs of `tessera data` that write samples of tasks.
void add_task_data(CLI::App& data);

/// One line of JSON on standard output. JSON holds UTF-8 only: what is none of it becomes U+FFFD.
void print_json(const config::Json& json);

/// Text of `--version`: versions of everything that the program runs on, and the machine.
std::string version_text();

}  // namespace tessera::cli
