#include "tessera/base/version.h"

#include <fmt/format.h>

namespace tessera {

std::string_view version() {
  return TESSERA_VERSION;
}

std::string_view revision() {
  return TESSERA_REVISION;
}

std::string_view compiler() {
  return TESSERA_COMPILER;
}

std::string version_line() {
  return fmt::format("tessera {} ({})", version(), revision());
}

}  // namespace tessera
