// The library of the verbs that need no LibTorch, which takes a fifth of a second to load.

#include <omp.h>

#include "program/cli/program.h"

extern "C" int tessera_run(int argc, char** argv) {
  using namespace tessera::cli;
  const auto add = [](Verb& program) {
    program.flag("--version", print_version, "Print the version");
    add_light_verbs(program);
  };
  const auto run = [](int threads, const auto& action) {
    if (threads > 0) omp_set_num_threads(threads);
    action();
  };
  return run_program(argc, argv, add, run);
}
