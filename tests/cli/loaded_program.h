#pragma once

#include <dlfcn.h>
#include <cstdio>

#include <stdexcept>

#include "tests/cli/tessera_program.h"

namespace tessera::cli {

/// The program's verbs without the half second that starting it takes: this process loads them
/// once, and every run is a copy of it.
inline int run_verbs(const std::vector<std::string>& command) {
  using Run = int (*)(int, char**);
  static const Run run = [] {
    void* library = ::dlopen(TESSERA_BINARY_FOLDER "/libtessera_model_cli.so", RTLD_NOW | RTLD_LOCAL);
    void* function = library != nullptr ? ::dlsym(library, "tessera_run") : nullptr;
    if (function == nullptr) throw std::runtime_error(::dlerror());
    return reinterpret_cast<Run>(function);
  }();
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  if (arguments.empty()) return 0;  // loads them
  return run(static_cast<int>(arguments.size()), arguments.data());
}

/// As Process(command_line(arguments), pinned(options)), at once.
inline std::unique_ptr<Process> start_loaded(const std::vector<std::string>& arguments,
                                             const ProcessOptions& options = {}) {
  run_verbs({});
  std::fflush(nullptr);  // what this process has not printed yet is not the child's to print
  return std::make_unique<Process>(
      [command = command_line(arguments)] { return run_verbs(command); }, pinned(options));
}

}  // namespace tessera::cli
