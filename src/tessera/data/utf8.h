#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::utf8 {

/// Bytes in the longest prefix of `text` that is valid UTF-8 (no surrogates, no overlong forms,
/// nothing above U+10FFFF); text.size() if all of it is.
size_t valid_prefix(std::string_view text);

/// Removes the first code point from `text`, which must be valid and not empty.
char32_t take(std::string_view& text);

/// Appends the code point, which must be a Unicode scalar value.
void append(std::string& text, char32_t code_point);

/// Unicode's White_Space property.
bool is_space(char32_t code_point);

}  // namespace tessera::utf8
