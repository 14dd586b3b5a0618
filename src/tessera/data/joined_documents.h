#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tessera {

/// Many documents in one file, as TinyStories has them (Eldan & Li 2023): after each document a
/// line with the name of the end of text alone, "<|endoftext|>". What stands in a line with other
/// characters is ordinary text. A file without such a line is one document.
///
/// Hands over each document, without the line end before the separator; documents without a
/// character are left out.
void for_each_document(std::string_view text,
                       const std::function<void(std::string_view document)>& visit);

/// The document with its separator, as it stands in such a file.
std::string with_separator(std::string_view document);

}  // namespace tessera
