#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program/cli/verb.h"
#include "tessera/base/progress.h"
#include "tessera/base/utf8.h"

namespace tessera::cli {

/// Exit statuses of the program.
enum ExitStatus : int { kDone = 0, kFailed = 1, kWrongUsage = 2, kBadData = 3, kInterrupted = 130 };

/// The verbs that need no LibTorch: `data`, `memo`, `mcp`, `plan` and `tokenizer`.
void add_light_verbs(Verb& program);
void add_data(Verb& program);
void add_mcp(Verb& program);
void add_memo(Verb& program);
void add_plan(Verb& program);
void add_tokenizer(Verb& program);

/// The verbs of `tessera data` that write samples of tasks.
void add_task_data(Verb& data);

/// The verb `manual`: pages and completions of all verbs of the program.
void add_manual(Verb& program);

/// Runs an action with so many threads; 0: as many as OpenMP has.
using RunAction = std::function<void(int threads, const std::function<void()>& action)>;

/// The program `tessera` with the verbs that `add_verbs` adds, which end in an exit status.
int run_program(int argc, char** argv, const std::function<void(Verb& program)>& add_verbs,
                const RunAction& run_action);

/// Says on standard error what goes beside the results, as show() does: a disk that is too full for
/// it ends nothing.
template <typename... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  show(stderr, fmt::format(text, std::forward<Args>(args)...));
}

/// One line: "tessera 0.1.0 (00e3a1b)".
void print_version();

/// Draws how far a job is as a bar on standard error, one for each part of the work that has
/// another total, if it takes more than a moment. While an InterruptGuard lives, a signal ends the
/// job with Interrupted.
class JobBar {
 public:
  /// doing: what the bar is called; nothing is drawn where it is empty.
  explicit JobBar(std::string_view doing);
  ~JobBar();

  /// As OnProgress.
  void operator()(int64_t done, int64_t of);
  /// Takes the bar off a terminal, so that a line can be printed.
  void wipe();

 private:
  using Clock = std::chrono::steady_clock;

  std::string doing_;
  std::unique_ptr<Progress> bar_;
  int64_t total_ = -1;                        // of the part that is being done; -1: none is yet
  Clock::time_point started_ = Clock::now();  // that part
};

/// Throws UsageError where a command would write over what it reads, or read what it wrote when it
/// is run again: where its output is one of the inputs, or would stand among the texts of a folder.
/// option: that names the output, if there is one. suffix: ends the names of the files that are
/// read of a folder.
void check_not_input(std::string_view option, const std::filesystem::path& output,
                     const std::vector<std::string>& inputs, std::string_view suffix = "");

/// What --set says, "key=value" each, as a configuration.
config::Json with_settings(const std::vector<std::string>& settings);

/// Writes texts of documents and models to standard output. A terminal, which is to obey none of
/// them, is shown their control characters but line breaks and tabs as \xNN, and bytes that are not
/// UTF-8; elsewhere they stay as they are. A line may end as on Windows.
class TextOutput {
 public:
  /// Whether standard output is a terminal.
  static bool is_terminal();
  /// Shows what was left of a character that did not come whole.
  ~TextOutput();
  /// The next piece of a text, which may end inside a character.
  void write(std::string_view piece);

 private:
  utf8::CharacterCutter cutter_;  // for a terminal
  bool returned_ = false;         // the last character was \r, and is not written yet
};

/// One line of JSON on standard output. JSON holds UTF-8 only: any other byte becomes U+FFFD.
void print_json(const nlohmann::ordered_json& json);

}  // namespace tessera::cli
