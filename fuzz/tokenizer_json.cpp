// Any bytes as a tokenizer.json: it is refused, or it encodes, decodes and saves.
#include <cstdlib>

#include "tessera/base/error.h"
#include "tessera/data/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto tokenizer = Tokenizer::parse(text, "input");
    if (Tokenizer::parse(tokenizer.to_json(), "saved").digest() != tokenizer.digest()) std::abort();
    tokenizer.decode(tokenizer.encode(text.substr(0, 4096), SpecialTokens::kRecognised));
  } catch (const DataError&) {
  }
  return 0;
}
