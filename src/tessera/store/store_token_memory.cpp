#include "tessera/store/store_token_memory.h"

#include "tessera/base/error.h"

namespace tessera::store {
namespace {

class StoreTokenReader final : public TokenMemory::Reader {
 public:
  StoreTokenReader(const memo::TextMemory& memory, const memo::LikelihoodDecoder& decoder)
      : memory_(memory), decoder_(decoder), reader_(memory) {}

  /// A model may have more tokens than its tokenizer. No stored text has such a token in it.
  void append(int32_t token) override {
    if (token < memory_.config().vocabulary)
      reader_.append(token);
    else
      reader_ = memo::TextReader(memory_);
  }

  std::vector<StoredContinuation> continuations(std::span<const double> log_prior) override {
    const size_t V = memory_.config().vocabulary;
    return decoder_.by_length(reader_.scores(), log_prior.first(V));
  }

 private:
  const memo::TextMemory& memory_;
  const memo::LikelihoodDecoder& decoder_;
  memo::TextReader reader_;
};

/// Throws DataError unless the store has this tokenizer.
const MemoStore& checked(const MemoStore& store, const std::filesystem::path& model,
                         const Tokenizer& tokenizer) {
  if (digest_of(tokenizer) != store.config().tokenizer)
    throw DataError(store.path().native(),
                    "has another tokenizer than the model {}; create a store with 'tessera memo "
                    "create --tokenizer {}' and memorize the documents there",
                    model.native(), (model / "tokenizer.json").native());
  return store;
}

}  // namespace

StoreTokenMemory::StoreTokenMemory(const std::filesystem::path& store,
                                   const std::filesystem::path& model, const Tokenizer& tokenizer)
    : store_(store), decoder_(StoreReader(checked(store_, model, tokenizer)).decoder()) {}

std::unique_ptr<TokenMemory::Reader> StoreTokenMemory::reader() const {
  return std::make_unique<StoreTokenReader>(store_.memory(), decoder_);
}

std::vector<double> StoreTokenMemory::frequencies() const {
  return store_.memory().pairs() == 0 ? std::vector<double>() : decoder_.prior();
}

}  // namespace tessera::store
