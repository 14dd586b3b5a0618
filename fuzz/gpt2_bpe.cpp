// A vocabulary of what the input adds and the bytes, with the input's merges.
#include <cstdlib>

#include "fuzz/seeds.h"
#include "tessera/base/error.h"
#include "tessera/data/detail/bpe_model.h"
#include "tessera/data/tokenizer.h"

using namespace tessera;

namespace {

/// The entries of all bytes, and the end of the vocabulary.
std::string rest_of_vocabulary() {
  std::string rest;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name = bytes_to_alphabet(std::string(1, static_cast<char>(byte)));
    const bool escaped = name == "\"" || name == "\\";
    rest += (byte == 0 ? "\"" : ",\"") + std::string(escaped ? "\\" : "") + name +
            "\":" + std::to_string(byte);
  }
  return rest + "}";
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  fuzz::write_seeds(*argc, *argv,
                    {{"words", "\"ab\":256,\"abc\":257,\"<|endoftext|>\":258,\na b\nab c\n"}});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string rest = rest_of_vocabulary();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // The first line begins the vocabulary, so that most that are no JSON are refused at once; the
  // others are the merges.
  const size_t line = std::min(text.find('\n'), size);
  const std::string vocabulary = "{" + std::string(text.substr(0, line)) + rest;
  try {
    const auto tokenizer =
        Tokenizer::gpt2(vocabulary, text.substr(std::min(line + 1, size)), "input");
    if (tokenizer.decode(tokenizer.encode(text)) != text) std::abort();
  } catch (const DataError&) {
  }
  return 0;
}
