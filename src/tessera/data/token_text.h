#pragma once

#include <cstdint>
#include <string>

#include "tessera/data/tokenizer.h"

namespace tessera {

/// The bytes that a token stands for; none for an id that the tokenizer lacks.
std::string bytes_of(const Tokenizer& tokenizer, int64_t token);

/// A token as OpenAI's API shows it: its text, or "bytes:\xe2\x80" where its bytes alone are not
/// UTF-8; "token:7" where it stands for nothing.
std::string shown_token(const Tokenizer& tokenizer, int64_t token);

}  // namespace tessera
