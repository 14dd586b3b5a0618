// The library of all verbs, on LibTorch.

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "lab/learner/laboratory.h"
#include "program/cli/program.h"
#include "program/model_cli/model_verbs.h"
#include "tessera/tensor/manifest.h"

namespace tessera::cli {
namespace {

void add_version(Verb& program) {
  const auto json = std::make_shared<bool>(false);
  const auto print = [json] {
    if (!*json) return print_version();
    fmt::print("{}\n", build_description().dump(2));
  };
  const Option version = program.flag("--version", print, "Print the version");
  program.flag("--json", *json, "With --version: also the libraries and the machine")
      .needs(version);
}

void add_all_verbs(Verb& program) {
  add_version(program);
  add_train(program);
  add_generate(program);
  add_eval(program);
  add_inspect(program);
  add_forward(program);
  add_import(program);
  add_export(program);
  add_study(program);
  add_serve(program);
  add_light_verbs(program);
  add_manual(program);
}

/// LibTorch's errors end in a list of calls.
void run_with_tensors(int threads, const std::function<void()>& action) {
  if (threads > 0 && threads != at::get_num_threads()) at::set_num_threads(threads);
  try {
    action();
  } catch (const c10::Error& error) {
    throw std::runtime_error(error.what_without_backtrace());
  }
}

}  // namespace

}  // namespace tessera::cli

extern "C" int tessera_run(int argc, char** argv) {
  using namespace tessera::cli;
  tessera::task::add_laboratory();
  return run_program(argc, argv, add_all_verbs, run_with_tensors);
}
