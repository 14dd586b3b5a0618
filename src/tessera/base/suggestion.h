#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// "; did you mean 'heads'?" for the known name nearest to `name` by edit distance, or an empty
/// string where none is near (more than a third of the name's length away, and more than two).
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

}  // namespace tessera
