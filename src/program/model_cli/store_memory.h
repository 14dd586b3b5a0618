#pragma once

#include <memory>
#include <string>

#include "tessera/data/token_memory.h"
#include "tessera/infer/model_folder.h"

namespace tessera::cli {

constexpr const char* kStoreHelp =
    "A memo store with the model's tokenizer: each token's distribution is mixed with what the "
    "store holds after the same tokens";

/// The store in this folder as a memory beside the model in `model`; none without a folder. Throws
/// DataError if the store has another tokenizer.
std::unique_ptr<const TokenMemory> store_memory(const ModelFolder& folder, const std::string& model,
                                                const std::string& store);

}  // namespace tessera::cli
