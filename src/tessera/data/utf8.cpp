#include "tessera/data/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tessera::utf8 {
namespace {

uint8_t byte_at(std::string_view text, size_t i) {
  return static_cast<uint8_t>(text[i]);
}

bool continues(std::string_view text, size_t i, uint8_t lowest = 0x80, uint8_t highest = 0xBF) {
  return i < text.size() && byte_at(text, i) >= lowest && byte_at(text, i) <= highest;
}

/// Bytes of the code point that starts at i, 0 if there is no valid one (Unicode, table 3-7).
size_t sequence_length(std::string_view text, size_t i) {
  const uint8_t lead = byte_at(text, i);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(text, i + 1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const uint8_t lowest = lead == 0xE0 ? 0xA0 : 0x80, highest = lead == 0xED ? 0x9F : 0xBF;
    return continues(text, i + 1, lowest, highest) && continues(text, i + 2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const uint8_t lowest = lead == 0xF0 ? 0x90 : 0x80, highest = lead == 0xF4 ? 0x8F : 0xBF;
    return continues(text, i + 1, lowest, highest) && continues(text, i + 2) &&
                   continues(text, i + 3)
               ? 4
               : 0;
  }
  return 0;
}

/// Of C0 and C1, or DEL.
bool is_control(std::string_view character) {
  const char32_t code_point = take(character);
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
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
    const size_t length = sequence_length(text, i);
    if (length == 0) return i;
    i += length;
  }
  return i;
}

size_t first_character(std::string_view text) {
  if (const size_t length = sequence_length(text, 0); length > 0) return length;
  // The bytes that may follow a lead byte always include the lowest or the highest of all.
  for (const char* continuations : {"\x80\x80\x80", "\xBF\xBF\xBF"})
    if (sequence_length(std::string(text.substr(0, 4)) + continuations, 0) > text.size()) return 0;
  return 1;
}

bool is_printable(std::string_view text) {
  return text.find('\n') == std::string_view::npos && printable(text) == text;
}

std::string printable(std::string_view text) {
  std::string shown;
  for (size_t i = 0, length = 0; i < text.size(); i += length) {
    length = sequence_length(text, i);
    const bool valid = length > 0;
    length = std::max<size_t>(1, length);
    const std::string_view bytes = text.substr(i, length);
    if (valid && (bytes == "\n" || !is_control(bytes)))
      shown += bytes;
    else
      for (const char byte : bytes) shown += fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
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
