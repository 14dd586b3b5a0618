#include "tessera/base/machine.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tessera/base/error.h"
#include "tessera/base/number.h"

namespace tessera {

int64_t physical_memory() {
  return int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
}

int64_t resident_memory() {
  std::ifstream statistics("/proc/self/statm");
  int64_t all = 0, resident = 0;
  return statistics >> all >> resident ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

std::optional<LaunchedProcess> LaunchedProcess::from_environment() {
  constexpr int64_t kMost = 1 << 20;
  const auto count =
      number_from_environment({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}, 1, kMost);
  if (!count) return {};
  if (*count == 1) return LaunchedProcess{};
  const auto rank =
      number_from_environment({"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}, 0, *count - 1);
  if (!rank)
    throw UsageError("there are {} processes, and RANK does not say which this is", *count);
  return LaunchedProcess{*rank, *count};
}

std::optional<int64_t> number_from_environment(const std::vector<const char*>& names, int64_t least,
                                               int64_t most) {
  for (const char* name : names) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == '\0') continue;
    const auto value = number_from<int64_t>(text);
    if (!value || *value < least || *value > most)
      throw UsageError("{} is '{}', expected a number from {} to {}", name, text, least, most);
    return value;
  }
  return {};
}

}  // namespace tessera
