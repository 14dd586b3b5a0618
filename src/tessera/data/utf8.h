#pragma once

#include <cstddef>
#include <string>
#include <string_view>

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

/// `text` with control characters and bytes that are no UTF-8 as \xNN; newlines stay.
std::string printable(std::string_view text);

/// The same, newlines too: for names in a message of one line.
std::string printable_line(std::string_view text);

/// Removes the first code point from `text`, which must be valid and not empty.
char32_t take(std::string_view& text);

/// Appends the code point, which must be a Unicode scalar value.
void append(std::string& text, char32_t code_point);

/// Unicode's White_Space property.
bool is_space(char32_t code_point);

}  // namespace tessera::utf8
