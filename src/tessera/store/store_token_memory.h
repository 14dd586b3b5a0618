#pragma once

#include <filesystem>
#include <memory>

#include "tessera/data/token_memory.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/recall.h"

namespace tessera::store {

/// A store as a memory beside a language model: the likelihood ratios of the store's decoder, with
/// the model's distribution as the prior of the stored token.
class StoreTokenMemory final : public TokenMemory {
 public:
  /// Opens the store, for a model in this folder that has this tokenizer. Throws DataError if the
  /// store has another one, and as MemoStore does.
  StoreTokenMemory(const std::filesystem::path& store, const std::filesystem::path& model,
                   const Tokenizer& tokenizer);

  std::unique_ptr<Reader> reader() const override;
  std::vector<double> frequencies() const override;

 private:
  MemoStore store_;
  memo::LikelihoodDecoder decoder_;
};

}  // namespace tessera::store
