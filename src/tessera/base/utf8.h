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

/// Throws DataError on UTF-16 and with the place of a zero byte: no text file has either. name: of
/// the text.
void check_bytes(std::string_view text, std::string_view name);

/// The same, and with the place of a byte that is not UTF-8.
void check_text(std::string_view text, std::string_view name);

/// What some bytes begin with.
struct Front {
  enum Kind { kCharacter, kInvalid, kUnfinished } kind;
  size_t length;  ///< bytes; of what is invalid the longest part that could have begun a character
};

/// `text` must not be empty.
Front front_of(std::string_view text);

/// Stands for bytes that are not UTF-8: U+FFFD.
constexpr std::string_view kReplacement = "\uFFFD";

/// Whether the byte is one of a character's that are not its first.
constexpr bool continues_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) == 0x80;
}

/// Number of code points of a valid text.
size_t code_points(std::string_view text);

/// At most so many bytes of a valid text, whole characters.
std::string_view beginning_of(std::string_view text, size_t bytes);

/// Columns that a terminal takes for a text: two for each wide character, such as Chinese ones. A
/// mark above a letter counts as one, so that the text never takes more.
size_t columns(std::string_view text);
/// At most so many columns of a text, whole characters.
std::string_view beginning_in_columns(std::string_view text, size_t most);

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
  /// The beginning of a character that is not whole yet.
  const std::string& unfinished() const { return unfinished_; }

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
      const Front front = front_of(left);
      if (front.kind == Front::kUnfinished) {
        unfinished_ = left;
        return;
      }
      const bool valid = front.kind == Front::kCharacter;
      const std::string_view bytes = left.substr(0, valid ? front.length : 1);
      left.remove_prefix(bytes.size());
      std::string_view character = bytes;
      take_character(bytes, valid ? std::optional(take(character)) : std::nullopt);
    }
  }

 private:
  std::string unfinished_;  // the first bytes of a character
};

}  // namespace tessera::utf8
