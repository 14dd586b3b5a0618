#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tessera/data/detail/added_tokens.h"
#include "tessera/data/detail/bpe_model.h"
#include "tessera/data/detail/character_model.h"

namespace tessera {

/// Names of our own forms of tokenizer.json, in the member "format", and their version.
inline constexpr std::string_view kBytesFormat = "tessera-bytes";
inline constexpr std::string_view kCharactersFormat = "tessera-characters";
inline constexpr int kFormatVersion = 1;

/// Ids are the bytes of the text.
struct ByteModel {};

/// What a Tokenizer is made of. The readers of its file formats fill it.
struct TokenizerContent {
  std::variant<ByteModel, CharacterModel, BpeModel> model;
  std::vector<std::string> tokens;  // the bytes of each id; empty where no token has the id
  std::vector<AddedToken> added_tokens;
  std::optional<int32_t> end_of_text;
};

/// The special token with the name, of those in use, that ends a text: "<|endoftext|>",
/// "<|end_of_text|>", "</s>" or "<eos>", the first of them there is.
std::optional<int32_t> find_end_of_text(const std::vector<AddedToken>& added_tokens);

/// Reads a tokenizer.json; Tokenizer::parse says what it takes.
TokenizerContent parse_tokenizer_json(std::string_view text, const std::string& source);

/// Reads GPT-2's two files.
TokenizerContent parse_gpt2(std::string_view encoder_json, std::string_view vocab_bpe,
                            const std::string& source);

/// The inverse of parse_tokenizer_json.
std::string write_tokenizer_json(const TokenizerContent& content);

}  // namespace tessera
