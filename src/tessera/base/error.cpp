#include "tessera/base/error.h"

#include <cstring>

namespace tessera {

SystemError::SystemError(std::string_view path, std::string_view action, int code)
    : std::runtime_error(fmt::format("{}: cannot {}: {}", path, action, std::strerror(code))) {}

}  // namespace tessera
