#pragma once

#include <cstdint>
#include <span>

namespace tessera::memo {

/// XXH3 of the tokens' ids, in order. Keys of stored texts are drawn by it.
uint64_t hash_tokens(std::span<const int32_t> tokens);

}  // namespace tessera::memo
