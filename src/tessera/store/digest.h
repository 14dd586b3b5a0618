#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tessera/memo/text_memory.h"

namespace tessera::store {

/// Two hexadecimal digits for each byte.
std::string hex(std::span<const uint8_t> bytes);

/// SHA-256 of a text, 64 hexadecimal digits.
std::string text_digest(std::string_view text);

/// SHA-256 of the configuration's text, a newline, and the entries row by row as 64-bit
/// little-endian numbers. It depends on the content alone, not on how the memory came to hold it.
std::string content_digest(std::string_view config, const memo::ExactCorrelationMemory& matrix);

/// The digest of a memory from those of its shards: that of the only one, or SHA-256 of all, each
/// followed by a newline.
std::string digest_of_shards(std::span<const std::string> digests);

/// The same from the entries of all shards.
std::string content_digest(std::string_view config, const memo::TextMemory& memory);

}  // namespace tessera::store
