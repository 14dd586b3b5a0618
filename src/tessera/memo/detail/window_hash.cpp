#include "tessera/memo/detail/window_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tessera::memo {

uint64_t hash_tokens(std::span<const int32_t> tokens) {
  return XXH3_64bits(tokens.data(), tokens.size_bytes());
}

size_t shard_of(uint64_t window, int32_t shards) {
  return (window >> 32) * static_cast<uint64_t>(shards) >> 32;
}

}  // namespace tessera::memo
