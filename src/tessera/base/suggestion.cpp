#include "tessera/base/suggestion.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr size_t kLongestName = 256;  // bytes; what is longer nobody has typed
constexpr size_t kMostTypos = 16;

/// Removes what both begin with and what both end with, which no edit has to change.
void remove_equal_ends(std::string_view& a, std::string_view& b) {
  const auto front = std::ranges::mismatch(a, b).in1 - a.begin();
  a.remove_prefix(static_cast<size_t>(front));
  b.remove_prefix(static_cast<size_t>(front));
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a.remove_suffix(1);
    b.remove_suffix(1);
  }
}

/// Or `limit`, where it is no smaller: then only the cells of the table that may be smaller were
/// computed (Ukkonen 1985). The lengths differ by less than `limit`.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  remove_equal_ends(a, b);
  std::vector<size_t> row(b.size() + 1, limit);
  for (size_t j = 0; j < std::min(limit, row.size()); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    const size_t first = std::max(i, limit) - limit + 1, last = std::min(b.size(), i + limit - 1);
    size_t diagonal = row[first - 1];
    row[first - 1] = std::min(i, limit);
    size_t least = row[first - 1];
    for (size_t j = first; j <= last; ++j) {
      const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted, limit});
      least = std::min(least, row[j]);
    }
    if (least == limit) return limit;
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
  return found - known.begin();
}

}  // namespace

std::optional<size_t> nearest_name(std::string_view name, const std::vector<std::string>& known) {
  if (name.size() > kLongestName) return std::nullopt;
  std::optional<size_t> found;
  size_t best = std::clamp<size_t>(name.size() / 3, 2, kMostTypos) + 1;
  for (size_t i = 0; i < known.size(); ++i) {
    const auto [shorter, longer] = std::minmax({name.size(), known[i].size()});
    if (longer - shorter >= best) continue;  // so many letters are to be added
    const size_t distance = edit_distance(name, known[i], best);
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
