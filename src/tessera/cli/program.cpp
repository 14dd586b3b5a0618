#include "tessera/cli/program.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "tessera/base/error.h"
#include "tessera/data/utf8.h"

namespace tessera::cli {
namespace {

constexpr int kThreadsPerCore = 4;  // at most; thousands of threads take minutes to start

void add_verbs(Verb& program) {
  add_train(program);
  add_generate(program);
  add_eval(program);
  add_inspect(program);
  add_forward(program);
  add_import(program);
  add_export(program);
  add_tokenizer(program);
  add_data(program);
  add_plan(program);
  add_study(program);
  add_memo(program);
  add_serve(program);
}

int cores() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// LibTorch takes one thread where it cannot see the cores of a virtual machine.
void set_threads(int threads) {
  at::set_num_threads(threads > 0 ? threads : cores());
}

/// Messages repeat names and words of foreign files, which are not to command the terminal.
int fail(ExitStatus status, const std::string& message) {
  fmt::print(stderr, "tessera: {}\n", utf8::printable(message));
  return status;
}

int wrong_command_line(const CommandLineError& error) {
  fmt::print(stderr, "{0}: {1}\nTry '{0} --help'.\n", error.verb(), utf8::printable(error.what()));
  return kWrongUsage;
}

int run(int argc, char** argv) {
  int32_t threads = 0;
  Verb program("tessera", "Networks of associative memories: train, run, edit, measure.");
  program.option("--threads", threads, "Threads to use (0: one per core)")
      .between(0, kThreadsPerCore * cores());
  program.flag(
      "--version", [] { fmt::print("{}\n", version_text()); }, "Print versions and the machine");
  add_verbs(program);
  const auto action = program.parse(argc, argv);
  set_threads(threads);
  action();
  // Results that did not reach their reader are a failure: the disk behind a redirection is full.
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    throw SystemError("standard output", "write", errno);
  return kDone;
}

}  // namespace

void add_weights(Verb& verb, std::optional<ops::WeightType>& weights) {
  verb.option("--weights", weights,
              "Numbers in which the matrices are kept and read; those of the directory unless "
              "given. bf16 takes half the memory of float32, int8 about a quarter");
}

void print_json(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace tessera::cli

/// The only place where an exception becomes an exit status.
extern "C" int tessera_run(int argc, char** argv) {
  using namespace tessera;
  using namespace tessera::cli;
  try {
    return run(argc, argv);
  } catch (const CommandLineError& error) {
    return wrong_command_line(error);
  } catch (const UsageError& error) {
    return fail(kWrongUsage, error.what());
  } catch (const std::invalid_argument& error) {
    return fail(kWrongUsage, error.what());
  } catch (const DataError& error) {
    return fail(kBadData, error.what());
  } catch (const Interrupted& error) {
    return fail(kInterrupted, error.what());
  } catch (const c10::ValueError& error) {
    return fail(kWrongUsage, error.what_without_backtrace());
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
