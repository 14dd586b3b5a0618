#include "tessera/base/version.h"

// The program's version comes from the build.
namespace tessera {

std::string_view version() {
  return "0";
}

}  // namespace tessera
