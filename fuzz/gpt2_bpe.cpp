// A vocabulary of the bytes and what the input adds, with the input's merges.
#include <cstdlib>

#include "tessera/base/error.h"
#include "tessera/data/detail/bpe_model.h"
#include "tessera/data/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // The first line goes into the vocabulary, the rest are the merges.
  const size_t line = std::min(text.find('\n'), size);
  std::string vocabulary = "{";
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name = bytes_to_alphabet(std::string(1, static_cast<char>(byte)));
    const bool escaped = name == "\"" || name == "\\";
    vocabulary += (byte == 0 ? "\"" : ",\"") + std::string(escaped ? "\\" : "") + name +
                  "\":" + std::to_string(byte);
  }
  vocabulary += std::string(text.substr(0, line)) + "}";
  try {
    const auto tokenizer =
        Tokenizer::gpt2(vocabulary, text.substr(std::min(line + 1, size)), "input");
    if (tokenizer.decode(tokenizer.encode(text)) != text) std::abort();
  } catch (const DataError&) {
  }
  return 0;
}
