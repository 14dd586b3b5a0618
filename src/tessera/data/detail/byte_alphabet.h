#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

/// The alphabet in which byte-level BPE files write bytes as printable characters (Radford et al.
/// 2019, encoder.py): the 188 printable characters of Latin-1 stand for themselves, the other 68
/// bytes, in order, for U+0100 and what follows.
char32_t byte_to_character(uint8_t byte);

std::string bytes_to_alphabet(std::string_view bytes);

/// The bytes that `written` (valid UTF-8) stands for; nothing if a character is not of the
/// alphabet.
std::optional<std::string> alphabet_to_bytes(std::string_view written);

}  // namespace tessera
