#include "tessera/base/suggestion.h"

#include <algorithm>

#include "tessera/base/consecutive.h"

namespace tessera {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row = consecutive<size_t>(b.size() + 1);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

/// The first one that begins or ends with this word: "memory_mosaic" for "mosaic".
std::optional<size_t> named_in_part(std::string_view name, const std::vector<std::string>& known) {
  const std::string word(name);
  const auto found = std::ranges::find_if(known, [&](const std::string& one) {
    return one.starts_with(word + "_") || one.ends_with("_" + word);
  });
  if (name.empty() || found == known.end()) return std::nullopt;
  return static_cast<size_t>(found - known.begin());
}

}  // namespace

std::optional<size_t> nearest_name(std::string_view name, const std::vector<std::string>& known) {
  std::optional<size_t> found;
  size_t best = std::max<size_t>(2, name.size() / 3) + 1;
  for (size_t i = 0; i < known.size(); ++i) {
    const auto [shorter, longer] = std::minmax({name.size(), known[i].size()});
    if (longer - shorter >= best) continue;  // so many letters are to be added
    const size_t distance = edit_distance(name, known[i]);
    if (distance < best) {
      best = distance;
      found = i;
    }
  }
  return found ? found : named_in_part(name, known);
}

std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  const auto found = nearest_name(name, known);
  return found ? "; did you mean '" + known[*found] + "'?" : "";
}

}  // namespace tessera
