#pragma once

#include <filesystem>

#include "tessera/store/memo_store.h"

namespace tessera::store {

/// Writes a store's memory as one safetensors file, without its documents: the tensor "C" [d, d]
/// (I32 or I64; in several shards "C.0", "C.1", ...), and as metadata what is needed to read it:
/// "config" (code, dimension, heads, layers, shards, vocabulary, seed), "tokenizer" (the content of
/// tokenizer.json), "pairs", "digest", and "noise", the standard deviation of one window's score.
/// Throws SystemError.
void export_memory(const MemoStore& store, const std::filesystem::path& out);

}  // namespace tessera::store
