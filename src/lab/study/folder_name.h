#pragma once

#include <string>
#include <string_view>

namespace tessera {

/// A name as one of a folder or a file: letters and digits, in lower case, a hyphen for whatever
/// lies between them. "STM, n_q = 8" -> "stm-n-q-8".
std::string folder_name(std::string_view name);

}  // namespace tessera
