#include "program/cli/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "program/jobs/job.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/machine.h"
#include "tessera/base/version.h"

namespace tessera::cli {
namespace {

constexpr auto kMoment = std::chrono::seconds(2);  // without a bar

/// Messages repeat names and words of foreign files, which are not to command the terminal.
int fail(ExitStatus status, const std::string& message) {
  say("tessera: {}\n", utf8::printable(message));
  return status;
}

int wrong_command_line(const CommandLineError& error) {
  say("{0}: {1}\nTry '{0} --help'.\n", error.verb(), utf8::printable(error.what()));
  return kWrongUsage;
}

int run(int argc, char** argv, const std::function<void(Verb&)>& add_verbs,
        const RunAction& run_action) {
  int32_t threads = 0;
  Verb program("tessera", "Networks of associative memories: train, run, edit, measure.");
  program.option("--threads", threads, "Threads to use (0: OMP_NUM_THREADS, else one per core)")
      .between(0, kMostThreads);
  add_verbs(program);
  const auto action = program.parse(argc, argv);
  run_action(threads, action);
  // Results that did not reach their reader are a failure: the disk behind a redirection is full.
  errno = 0;
  if (std::fflush(stdout) != 0) throw SystemError("standard output", "write", errno);
  if (std::ferror(stdout)) throw SystemError("standard output: cannot write all of it");
  return kDone;
}

/// Whether a file of this path would be among the texts of a folder, hidden ones left out.
bool is_below(const std::filesystem::path& folder, const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  std::error_code failure;  // what cannot be read is refused elsewhere
  const fs::path above = fs::weakly_canonical(fs::absolute(file, failure).parent_path(), failure);
  const fs::path relative =
      (above / file.filename()).lexically_relative(fs::canonical(folder, failure));
  return !relative.empty() && std::ranges::none_of(relative, [](const fs::path& name) {
    return name.native().starts_with('.');  // as "..", which leads out of the folder
  });
}

}  // namespace

JobBar::JobBar(std::string_view doing) : doing_(doing) {}
JobBar::~JobBar() = default;

void JobBar::operator()(int64_t done, int64_t of) {
  InterruptGuard::stop_if_interrupted("interrupted");
  if (doing_.empty()) return;
  if (of != total_ && total_ >= 0) {
    bar_.reset();  // which ends its line
    started_ = Clock::now();
  }
  total_ = of;
  if (!bar_ && Clock::now() - started_ < kMoment) return;
  if (!bar_) bar_ = std::make_unique<Progress>(stderr, doing_, of, done);
  bar_->update(done);
}

void JobBar::wipe() {
  if (bar_) bar_->wipe();
}

void add_light_verbs(Verb& program) {
  add_data(program);
  add_tokenizer(program);
  add_plan(program);
  add_memo(program);
  add_mcp(program);
}

/// The only place where an exception becomes an exit status.
int run_program(int argc, char** argv, const std::function<void(Verb&)>& add_verbs,
                const RunAction& run_action) {
  try {
    return run(argc, argv, add_verbs, run_action);
  } catch (const CommandLineError& error) {
    return wrong_command_line(error);
  } catch (const UsageError& error) {
    return fail(kWrongUsage, error.what());
  } catch (const DataError& error) {
    return fail(kBadData, error.what());
  } catch (const Interrupted& error) {
    return fail(kInterrupted, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(kFailed, SystemError(error.path1().native(), "open", error.code().value()).what());
  } catch (const std::system_error& error) {
    const bool of_output = std::ferror(stdout) != 0;  // fmt does not say of which file it speaks
    return fail(kFailed, of_output
                             ? SystemError("standard output", "write", error.code().value()).what()
                             : error.what());
  } catch (const std::bad_alloc&) {
    return fail(kFailed, "out of memory");
  } catch (const std::exception& error) {
    return fail(kFailed, error.what());
  }
}

void print_version() {
  fmt::print("{}\n", version_line());
}

void check_not_input(std::string_view option, const std::filesystem::path& output,
                     const std::vector<std::string>& inputs, std::string_view suffix) {
  if (output.empty()) return;
  std::error_code missing;
  for (const std::string& input : inputs) {
    if (std::filesystem::equivalent(input, output, missing))
      throw UsageError("{} is {}, which this command reads; name another place", option,
                       output.native());
    const bool is_text = output.filename().native().ends_with(suffix);
    if (is_text && std::filesystem::is_directory(input, missing) && is_below(input, output))
      throw UsageError(
          "{} is {}, which would be among the texts of {} that this command reads; "
          "name another place",
          option, output.native(), input);
  }
}

config::Json with_settings(const std::vector<std::string>& settings) {
  config::Json config = config::Json::object();
  for (const auto& setting : settings) config::set_from_text(config, setting);
  return config;
}

TextOutput::~TextOutput() {
  const std::string rest = (returned_ ? "\\x0d" : "") + utf8::printable(cutter_.unfinished());
  std::fwrite(rest.data(), 1, rest.size(), stdout);  // fmt would throw where the terminal is gone
}

bool TextOutput::is_terminal() {
  static const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  return is_terminal;
}

void TextOutput::write(std::string_view piece) {
  if (!is_terminal()) return fmt::print("{}", piece);
  std::string shown;
  cutter_.append(piece, [&](std::string_view bytes, std::optional<char32_t>) {
    if (std::exchange(returned_, bytes == "\r")) shown += bytes == "\n" ? "\r" : "\\x0d";
    if (!returned_) shown += bytes == "\t" ? std::string(bytes) : utf8::printable(bytes);
  });
  fmt::print("{}", shown);
}

void print_json(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", jobs::json_line(json));
}

}  // namespace tessera::cli
