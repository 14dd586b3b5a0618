#include "program/model_cli/store_memory.h"

#include "tessera/store/store_token_memory.h"

namespace tessera::cli {

std::unique_ptr<const TokenMemory> store_memory(const ModelFolder& folder, const std::string& model,
                                                const std::string& store) {
  if (store.empty()) return nullptr;
  return std::make_unique<store::StoreTokenMemory>(store, model, folder.tokenizer);
}

}  // namespace tessera::cli
