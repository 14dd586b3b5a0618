#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Which of the known names is nearest to `name` by edit distance, the first of several. Where none
/// is near (all more than a third of the name's length away, and more than two, or more than 16):
/// the first that begins or ends with it as a word, such as "memory_mosaic" for "mosaic"; or
/// nothing, as for a name of more than 256 bytes.
std::optional<size_t> nearest_name(std::string_view name, const std::vector<std::string>& known);

/// "; did you mean 'heads'?" for the nearest of the known names, or an empty string.
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

}  // namespace tessera
