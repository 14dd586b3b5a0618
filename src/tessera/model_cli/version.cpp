#include <nlohmann/json.hpp>

#include "tessera/model_cli/model_verbs.h"
#include "tessera/tensor/manifest.h"

namespace tessera::cli {

std::string version_text() {
  return build_description().dump(2);
}

}  // namespace tessera::cli
