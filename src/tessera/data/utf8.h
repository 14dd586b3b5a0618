#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::utf8 {

/// Bytes in the longest prefix of `text` that is valid UTF-8 (no surrogates, no overlong forms,
/// nothing above U+10FFFF); text.size() if all of it is.
size_t valid_prefix(std::string_view text);

/// Bytes of the character that a text, not empty, begins with: 1 if these bytes are not UTF-8, 0 if
/// the text ends inside the character.
size_t first_character(std::string_view text);

/// Whether `text` is valid UTF-8 without control characters (C0, DEL and C1), so that a terminal
/// shows it and does nothing else.
bool is_printable(std::string_view text);

/// `text` with control characters and bytes that are not UTF-8 as \xNN; newlines stay.
std::string printable(std::string_view text);

/// The same, newlines too: for names in a message of one line.
std::string printable_line(std::string_view text);

/// Removes the first code point from `text`, which must be valid and not empty.
char32_t take(std::string_view& text);

/// Appends the code point, which must be a Unicode scalar value >= 0x80.
void append_long(std::string& text, char32_t code_point);
/// Appends the code point, which must be a Unicode scalar value.
inline void append(std::string& text, char32_t code_point) {
  if (code_point < 0x80)
    text += static_cast<char>(code_point);
  else
    append_long(text, code_point);
}

/// Unicode's White_Space property.
bool is_space(char32_t code_point);

/// Cuts a text that comes piece by piece into characters; a piece may end inside one.
class CharacterCutter {
 public:
  /// Calls take(bytes, code_point) for each character that is whole by now, and for each byte that
  /// is not UTF-8, which has no code point: void(std::string_view, std::optional<char32_t>).
  template <typename Take>
  void append(std::string_view piece, Take&& take_character) {
    std::string joined;
    if (!unfinished_.empty()) piece = joined = std::exchange(unfinished_, {}).append(piece);
    for (std::string_view left = piece; !left.empty();) {
      if (static_cast<uint8_t>(left.front()) < 0x80) {  // most of most texts
        take_character(left.substr(0, 1), std::optional<char32_t>(left.front()));
        left.remove_prefix(1);
        continue;
      }
      const size_t length = first_character(left);
      if (length == 0) {
        unfinished_ = left;
        return;
      }
      const std::string_view bytes = left.substr(0, length);
      left.remove_prefix(length);
      std::string_view character = bytes;
      take_character(bytes, length > 1 ? std::optional(take(character)) : std::nullopt);
    }
  }

 private:
  std::string unfinished_;  // the first bytes of a character
};

}  // namespace tessera::utf8
