#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::memo {

/// XXH3 of the tokens' ids, in order. Keys of stored texts are drawn by it.
uint64_t hash_tokens(std::span<const int32_t> tokens);

/// Which of S shards of a TextMemory holds what followed the window of this hash_tokens():
/// floor(u S / 2^32), where u is the upper half of the hash.
size_t shard_of(uint64_t window, int32_t shards);

}  // namespace tessera::memo
