#include "python/stores/create.h"

#include "tessera/data/tokenizer.h"
#include "tessera/store/memo_store.h"

namespace tessera::python {

Create::Answer Create::run(const std::filesystem::path& folder, const jobs::OnProgress&) const {
  memo::TextMemoryConfig memory;
  memory.code = code;
  memory.dimension = dimension;
  memory.seed = seed;
  store::MemoStore::create(
      folder, memory,
      tokenizer == "byte" ? Tokenizer::bytes(EndOfText::kPresent) : Tokenizer::load(tokenizer));
  return {folder.native()};
}

config::Json Create::Answer::json() const {
  return {{"store", store}};
}

}  // namespace tessera::python
