#include "tessera/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/base/number.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

std::string unsigned_zero(std::string text) {
  const bool is_zero = text.find_first_not_of("-0.") == std::string::npos;
  return is_zero && text.starts_with('-') ? text.substr(1) : text;
}

struct Entity {
  char character;
  std::string_view text;
};
constexpr Entity kEntities[] = {
    {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};

/// Of C0 and C1 but tab and line ends, or DEL: some terminals obey those of C1, too.
bool is_control(std::string_view character) {
  const char32_t c = utf8::take(character);
  return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || (c >= 0x7F && c < 0xA0);
}

/// Estimated width of the character that begins with this byte, in units of the font's size; 0 of
/// its other bytes.
double ems_of(char c) {
  constexpr std::string_view kNarrow = "iljtfrI.,:;'|!()[]{}/ -";
  constexpr std::string_view kWide = "mwMWOQGD@%";
  if (utf8::continues_character(c)) return 0;
  return kNarrow.find(c) != std::string_view::npos ? 0.36
         : kWide.find(c) != std::string_view::npos ? 0.84
                                                   : 0.58;
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
  const std::string text = fmt::format("{:.{}g}", value, digits);
  double rounded = value;  // stays so where rounding led beyond what a double holds
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  const bool writes_out = text.find("e+") != std::string::npos && std::abs(rounded) < 1e6;
  return writes_out ? fixed_text(rounded, 0) : unsigned_zero(text);
}

std::string power_of_ten(int exponent) {
  static constexpr std::array<std::string_view, 10> kDigits = {"⁰", "¹", "²", "³", "⁴",
                                                               "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "10⁻" : "10";
  for (const char digit : std::to_string(std::abs(exponent))) text += kDigits[digit - '0'];
  return text;
}

std::string readable_number(std::string_view digits) {
  const bool negative = digits.starts_with('-');
  std::string text(digits.substr(negative ? 1 : 0));
  const bool other = text.find_first_not_of("0123456789.e+-") != std::string::npos;
  if (text.empty() || text[0] < '0' || text[0] > '9' || other) return std::string(digits);
  std::string power;
  if (const size_t e = text.find('e'); e != std::string::npos) {
    const bool plus = text.substr(e + 1).starts_with('+');
    const auto exponent = number_from<int>(text.substr(e + (plus ? 2 : 1)));
    if (!exponent) return std::string(digits);
    power = "×" + power_of_ten(*exponent);
    text.erase(e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  for (size_t i = point; point >= 5 && i > 3;) {
    i -= 3;
    text.insert(i, "\u202F");
  }
  return (negative ? "−" : "") + text + power;
}

std::string printable_text(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const auto [kind, length] = utf8::front_of(text);
    const std::string_view bytes = text.substr(0, length);
    if (kind == utf8::Front::kCharacter && !is_control(bytes) && bytes != "\uFFFE" &&
        bytes != "\uFFFF")
      clean += bytes;
    else
      for (size_t i = 0; i < length; ++i) clean += utf8::kReplacement;
    text.remove_prefix(length);
  }
  return clean;
}

std::string escape_markup(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : printable_text(text)) {
    const auto* const entity = std::ranges::find(kEntities, c, &Entity::character);
    if (entity != std::end(kEntities))
      escaped += entity->text;
    else
      escaped += c;
  }
  return escaped;
}

double text_width(std::string_view text, double font_size) {
  double ems = 0;
  for (const char c : text) ems += ems_of(c);
  return ems * font_size;
}

double widest_text(const std::vector<std::string>& lines) {
  double widest = 0;
  for (const std::string& line : lines) widest = std::max(widest, text_width(line));
  return widest;
}

std::vector<std::string> wrap_text(std::string_view text, double width, double font_size) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    const std::string longer = line.empty() ? std::string(word) : line + " " + std::string(word);
    if (!line.empty() && text_width(longer, font_size) > width) {
      lines.push_back(line);
      line = word;
    } else {
      line = longer;
    }
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

std::string shorten_text(std::string_view text, double width) {
  if (text_width(text) <= width) return std::string(text);
  size_t kept = 0;
  for (double ems = 0; kept < text.size(); ++kept) {
    ems += ems_of(text[kept]);
    if (ems * kFontSize + kFontSize > width) break;  // no room for the ellipsis
  }
  return std::string(text.substr(0, kept)) + "…";
}

}  // namespace tessera
