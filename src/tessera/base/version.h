#pragma once

#include <string>
#include <string_view>

namespace tessera {

/// "0.1.0".
std::string_view version();
/// The sources as git describes them, "00e3a1b", or "unknown".
std::string_view revision();
/// What compiled them: "GNU 12.2.0".
std::string_view compiler();
/// "tessera 0.1.0 (00e3a1b)".
std::string version_line();

}  // namespace tessera
