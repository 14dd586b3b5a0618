#pragma once

#include <span>
#include <vector>

#include "tessera/store/memo_store.h"

namespace tessera::store {

/// SourceSearch in the documents of a store, with the places in their texts.
std::vector<TokenSources> sources_of(const MemoStore& store, std::span<const int32_t> text,
                                     size_t first, size_t most);

}  // namespace tessera::store
