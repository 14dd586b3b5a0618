#include "tessera/base/manifest.h"
#include "tessera/cli/program.h"

namespace tessera::cli {

std::string version_text() {
  return build_description().dump(2);
}

}  // namespace tessera::cli
