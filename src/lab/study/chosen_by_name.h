#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/suggestion.h"

namespace tessera {

/// Those of `all`, which have a `name` each, that a study's setting `models` names, in its order.
/// Throws UsageError, with the nearest name, on one that is not among them, and where none is
/// chosen.
template <typename Named>
std::vector<Named> chosen_by_name(const std::vector<Named>& all,
                                  const std::vector<std::string>& chosen) {
  std::vector<std::string> names;
  for (const auto& one : all) names.push_back(one.name);
  std::vector<Named> result;
  for (const auto& name : chosen) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw UsageError("models: there is no '{}'{}; the study has: {}", name,
                       suggestion(name, names), fmt::join(names, ", "));
    result.push_back(all[static_cast<size_t>(found - names.begin())]);
  }
  if (result.empty())
    throw UsageError("models is empty; the study has: {}", fmt::join(names, ", "));
  return result;
}

}  // namespace tessera
