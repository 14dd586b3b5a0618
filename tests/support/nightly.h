#pragma once

#include <cstdlib>

namespace tessera::test {

/// Whether a test that tries many moments or inputs tries all of them (`ctest --preset nightly`),
/// not a handful.
inline bool nightly() {
  return std::getenv("TESSERA_NIGHTLY") != nullptr;
}

}  // namespace tessera::test
