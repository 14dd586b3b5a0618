#include "tessera/cli/program.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "tessera/base/error.h"
#include "tessera/base/suggestion.h"
#include "tessera/data/utf8.h"

namespace tessera::cli {
namespace {

void add_verbs(CLI::App& program) {
  add_train(program);
  add_generate(program);
  add_eval(program);
  add_forward(program);
  add_import(program);
  add_export(program);
  add_tokenizer(program);
  add_data(program);
  add_plan(program);
  add_study(program);
  add_memo(program);
}

/// LibTorch takes one thread where it cannot see the cores of a virtual machine.
void set_threads(int threads) {
  at::set_num_threads(
      threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
}

/// The verb that was being parsed: the deepest one named on the command line.
const CLI::App& current_verb(const CLI::App& program) {
  const auto chosen = program.get_subcommands();
  return chosen.empty() ? program : current_verb(*chosen.front());
}

/// What an unknown option or verb was probably meant to be.
std::string suggestion_for(const CLI::App& verb, const std::string& unknown) {
  std::vector<std::string> known;
  for (const auto* option : verb.get_options())
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  for (const auto* child : verb.get_subcommands({})) known.push_back(child->get_name());
  return suggestion(unknown.substr(0, unknown.find('=')), known);
}

/// What to say where a verb is missing.
std::string missing_verb(const CLI::App& verb) {
  std::string names;
  for (const auto* child : verb.get_subcommands({}))
    names += (names.empty() ? "" : ", ") + child->get_name();
  return "which verb? There are " + names;
}

int report_usage(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& verb = current_verb(program);
  std::string message = error.what();
  const bool has_children = !verb.get_subcommands({}).empty();
  if (has_children && error.get_name() == "RequiredError") message = missing_verb(verb);
  const auto unknown = program.remaining(/*recurse=*/true);
  // A misspelt option or verb also leaves the right one missing; what was misspelt says more.
  if (!unknown.empty())
    message = fmt::format("unknown argument '{}'{}", unknown.front(),
                          suggestion_for(verb, unknown.front()));
  const std::string name = &verb == &program ? "tessera" : "tessera " + verb.get_name();
  fmt::print(stderr, "{}: {}\nTry '{} --help'.\n", name, message, name);
  return kWrongUsage;
}

/// Messages repeat names and words of foreign files, which are not to command the terminal.
int fail(ExitStatus status, const std::string& message) {
  fmt::print(stderr, "tessera: {}\n", utf8::printable(message));
  return status;
}

int run(int argc, char** argv) {
  CLI::App program{"Networks of associative memories: train, run, edit, measure.", "tessera"};
  program.require_subcommand(1);
  program.set_help_all_flag("--help-all", "Help of every verb");
  program.set_version_flag("--version", version_text, "Versions and the machine");
  GlobalOptions options;
  program.add_option("--threads", options.threads, "Threads (0: one per core)")
      ->check(CLI::NonNegativeNumber);
  program.fallthrough();
  // Runs between parsing and the verb.
  program.parse_complete_callback([&] { set_threads(options.threads); });
  add_verbs(program);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help, --version
    return report_usage(program, error);
  }
  // Results that did not reach their reader are a failure: the disk behind a redirection is full.
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    throw SystemError("standard output", "write", errno);
  return kDone;
}

}  // namespace

void print_json(const config::Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, config::Json::error_handler_t::replace));
}

}  // namespace tessera::cli

/// The only place where an exception becomes an exit status.
extern "C" int tessera_run(int argc, char** argv) {
  using namespace tessera;
  using namespace tessera::cli;
  try {
    return run(argc, argv);
  } catch (const UsageError& error) {
    return fail(kWrongUsage, error.what());
  } catch (const std::invalid_argument& error) {
    return fail(kWrongUsage, error.what());
  } catch (const DataError& error) {
    return fail(kBadData, error.what());
  } catch (const Interrupted& error) {
    return fail(kInterrupted, error.what());
  } catch (const c10::Error& error) {
    return fail(kFailed, error.what_without_backtrace());
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(kFailed, SystemError(error.path1().native(), "open", error.code().value()).what());
  } catch (const std::bad_alloc&) {
    return fail(kFailed, "out of memory");
  } catch (const std::exception& error) {
    return fail(kFailed, error.what());
  }
}
