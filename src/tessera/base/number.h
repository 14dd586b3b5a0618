#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace tessera {

/// The number that all of a text is, as std::from_chars reads it; none of another text, or where
/// the number does not fit.
template <typename Number>
std::optional<Number> number_from(std::string_view text) {
  const char* const last = text.data() + text.size();
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), last, number);
  if (failure != std::errc() || end != last) return {};
  return number;
}

/// "1 document", "3 documents".
inline std::string counted(int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace tessera
