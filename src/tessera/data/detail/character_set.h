#pragma once

#include <string>
#include <string_view>

namespace tessera {

/// A page of HTML that is not UTF-8, in UTF-8. Its bytes are UTF-16 after a byte order mark, else
/// of the character set that the page names in a `<meta>` or in its XML declaration; of
/// Windows-1252 if it names none, one that is unknown, or one without ASCII. Bytes that are not of
/// the character set become U+FFFD.
std::string page_in_utf8(std::string_view page);

/// The text with a to z in the place of A to Z.
std::string in_small_letters(std::string_view text);

}  // namespace tessera
