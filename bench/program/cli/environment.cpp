// What the program sets in its environment, for rivals that shall have the same:
//   export $(tessera_bench program/cli/environment)
#include <fmt/format.h>

#include <cstdlib>

#include "bench/support/program.h"

namespace tessera::bench {
namespace {

void print_environment(const Words&) {
  for (const char* name :
       {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OPENBLAS_CORETYPE", "TESSERA_KEEP_BLAS_CORE"})
    if (const char* value = std::getenv(name)) fmt::print("{}={}\n", name, value);
}

const Program program("program/cli/environment", "", print_environment);

}  // namespace
}  // namespace tessera::bench
