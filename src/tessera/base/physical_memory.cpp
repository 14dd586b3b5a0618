#include "tessera/base/physical_memory.h"

#include <unistd.h>

namespace tessera {

int64_t physical_memory() {
  return int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
}

}  // namespace tessera
