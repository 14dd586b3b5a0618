#include "tessera/report/detail/number.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "tessera/base/error.h"

namespace tessera {
namespace {

std::string unsigned_zero(std::string text) {
  const bool is_zero = text.find_first_not_of("-0.") == std::string::npos;
  return is_zero && text.starts_with('-') ? text.substr(1) : text;
}

}  // namespace

std::string exact_text(double value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return std::string(buffer.data(), end);
}

std::string fixed_text(double value, int decimals) {
  check_argument(decimals >= 0, "fixed_text: decimals must not be negative, got {}", decimals);
  if (!std::isfinite(value)) return exact_text(value);
  return unsigned_zero(fmt::format("{:.{}f}", value, decimals));
}

std::string significant_text(double value, int digits) {
  check_argument(digits >= 1, "significant_text: digits must be at least 1, got {}", digits);
  if (!std::isfinite(value)) return exact_text(value);
  return unsigned_zero(fmt::format("{:.{}g}", value, digits));
}

std::string power_of_ten(int exponent) {
  static constexpr std::array<std::string_view, 10> kDigits = {"⁰", "¹", "²", "³", "⁴",
                                                               "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "10⁻" : "10";
  for (const char digit : std::to_string(std::abs(exponent))) text += kDigits[digit - '0'];
  return text;
}

}  // namespace tessera
