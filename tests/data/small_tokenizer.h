#pragma once

#include <nlohmann/json.hpp>

#include "tessera/data/detail/bpe_model.h"

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

/// The same with the pre-tokenizer of Llama 3's tokenizer.json.
inline nlohmann::json llama_style_json() {
  nlohmann::json json = small_bpe_json();
  json["pre_tokenizer"] = nlohmann::json::parse(R"json({"type": "Sequence", "pretokenizers": [
    {"type": "Split",
     "pattern": {"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
     "behavior": "Isolated", "invert": false},
    {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]})json");
  return json;
}

}  // namespace tessera::test
