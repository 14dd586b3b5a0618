#include "tessera/base/physical_memory.h"

#include <unistd.h>

#include <fstream>

namespace tessera {

int64_t physical_memory() {
  return int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
}

int64_t resident_memory() {
  std::ifstream statistics("/proc/self/statm");
  int64_t all = 0, resident = 0;
  return statistics >> all >> resident ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace tessera
