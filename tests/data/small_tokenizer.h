#pragma once

#include <nlohmann/json.hpp>

#include "tessera/data/byte_alphabet.h"

namespace tessera::test {

/// A tokenizer.json with the 256 bytes as ids 0 to 255, "ab" 256, "abc" 257, "bc" 258, and merges
/// in that order.
inline nlohmann::json small_bpe_json() {
  nlohmann::json vocabulary;
  for (int byte = 0; byte < 256; ++byte)
    vocabulary[bytes_to_alphabet(std::string(1, static_cast<char>(byte)))] = byte;
  vocabulary["ab"] = 256;
  vocabulary["abc"] = 257;
  vocabulary["bc"] = 258;
  return {{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", {"a b", "ab c", "b c"}}}}};
}

}  // namespace tessera::test
