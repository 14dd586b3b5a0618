#include "tessera/base/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tessera/base/error.h"

namespace tessera::utf8 {
namespace {

uint8_t byte_at(std::string_view text, size_t i) {
  return static_cast<uint8_t>(text[i]);
}

/// Of C0 and C1, or DEL.
bool is_control(std::string_view character) {
  const char32_t code_point = take(character);
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
}

/// As the C++ standard estimates it, [format.string.std].
bool is_wide(char32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || c == 0x2329 || c == 0x232A ||
         (c >= 0x2E80 && c <= 0xA4CF && c != 0x303F) || (c >= 0xAC00 && c <= 0xD7A3) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE10 && c <= 0xFE19) ||
         (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
         (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1F64F) ||
         (c >= 0x1F900 && c <= 0x1F9FF) || (c >= 0x20000 && c <= 0x3FFFD);
}

/// Removes the first character, or bytes that are none, from `text`; the columns that it takes.
size_t take_columns(std::string_view& text) {
  const Front front = front_of(text);
  std::string_view bytes = text.substr(0, front.length);
  text.remove_prefix(front.length);
  return front.kind == Front::kCharacter && is_wide(take(bytes)) ? 2 : 1;
}

}  // namespace

size_t valid_prefix(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    uint64_t eight;
    if (i + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if ((eight & 0x8080808080808080) == 0) {
        i += sizeof eight;
        continue;
      }
    }
    const Front front = front_of(text.substr(i));
    if (front.kind != Front::kCharacter) return i;
    i += front.length;
  }
  return i;
}

void check_bytes(std::string_view text, std::string_view name) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    throw DataError(name, "is UTF-16, expected UTF-8; convert it: iconv -f UTF-16 -t UTF-8");
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
    throw DataError(name, "byte {} is zero: this is not a text file", zero);
}

void check_text(std::string_view text, std::string_view name) {
  check_bytes(text, name);
  if (const size_t valid = valid_prefix(text); valid != text.size())
    throw DataError(name, "byte {} is not valid UTF-8; convert it, for example with iconv", valid);
}

// Well-formed sequences by The Unicode Standard, table 3-7.
Front front_of(std::string_view text) {
  const uint8_t lead = byte_at(text, 0);
  if (lead < 0x80) return {Front::kCharacter, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Front::kInvalid, 1};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  for (size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {Front::kUnfinished, i};
    uint8_t low = 0x80, high = 0xBF;
    if (i == 1 && lead == 0xE0) low = 0xA0;   // overlong
    if (i == 1 && lead == 0xED) high = 0x9F;  // surrogates
    if (i == 1 && lead == 0xF0) low = 0x90;   // overlong
    if (i == 1 && lead == 0xF4) high = 0x8F;  // past U+10FFFF
    if (byte_at(text, i) < low || byte_at(text, i) > high) return {Front::kInvalid, i};
  }
  return {Front::kCharacter, length};
}

size_t code_points(std::string_view text) {
  return text.size() - std::ranges::count_if(text, continues_character);
}

std::string_view beginning_of(std::string_view text, size_t bytes) {
  if (bytes >= text.size()) return text;
  while (bytes > 0 && continues_character(text[bytes])) --bytes;
  return text.substr(0, bytes);
}

size_t columns(std::string_view text) {
  size_t sum = 0;
  while (!text.empty()) sum += take_columns(text);
  return sum;
}

std::string_view beginning_in_columns(std::string_view text, size_t most) {
  std::string_view left = text;
  for (size_t length = 0; !left.empty(); length = text.size() - left.size()) {
    const size_t taken = take_columns(left);
    if (taken > most) return text.substr(0, length);
    most -= taken;
  }
  return text;
}

bool is_printable(std::string_view text) {
  return text.find('\n') == std::string_view::npos && printable(text) == text;
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Front front = front_of(text);
    const std::string_view bytes = text.substr(0, front.length);
    if (front.kind == Front::kCharacter && (bytes == "\n" || !is_control(bytes)))
      shown += bytes;
    else
      for (const char byte : bytes) shown += fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
    text.remove_prefix(front.length);
  }
  return shown;
}

std::string printable_line(std::string_view text) {
  std::string shown = printable(text);
  for (size_t at = shown.find('\n'); at != std::string::npos; at = shown.find('\n', at))
    shown.replace(at, 1, "\\x0a");
  return shown;
}

char32_t take(std::string_view& text) {
  const uint8_t lead = byte_at(text, 0);
  const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t code_point = length == 1 ? lead : lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) code_point = code_point << 6 | (byte_at(text, i) & 0x3F);
  text.remove_prefix(length);
  return code_point;
}

void append_long(std::string& text, char32_t code_point) {
  const int continuations = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  constexpr char32_t kLeads[] = {0x00, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kLeads[continuations] | code_point >> 6 * continuations);
  for (int i = continuations - 1; i >= 0; --i)
    text += static_cast<char>(0x80 | (code_point >> 6 * i & 0x3F));
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

}  // namespace tessera::utf8
