#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "tessera/data/detail/bpe_model.h"
#include "tessera/data/tokenizer.h"

namespace tessera {

/// One id per Unicode code point: its place in a sorted list.
class CharacterModel {
 public:
  /// characters: ascending, without repetition.
  explicit CharacterModel(std::vector<char32_t> characters);

  /// Appends the ids of `text`, which stands at byte `offset` of what the caller encodes. Throws
  /// DataError with the place of invalid UTF-8 or of a character that is not in the list.
  void encode(std::string_view text, size_t offset, std::vector<int32_t>& ids) const;

  const std::vector<char32_t>& characters() const { return characters_; }

 private:
  std::vector<char32_t> characters_;
  std::unordered_map<char32_t, int32_t> ids_;
};

/// A token that is found in the text by its name, before the model sees the text.
struct AddedToken {
  std::string name;
  int32_t id = 0;
  bool special = true;       // found only when special tokens are recognised
  bool early = true;         // looked for before those that are not (Hugging Face: not normalized)
  bool strips_left = false;  // takes the white space before it along
  bool strips_right = false;
};

/// Finds added tokens in text as Hugging Face's tokenizers do: the leftmost, of several at one
/// place the longest. Its time hardly grows with the number of tokens.
class AddedTokenFinder {
 public:
  /// Finds the tokens of `tokens` with this `early`, the special ones only if they are recognised.
  /// No two have the same name.
  AddedTokenFinder(const std::vector<AddedToken>& tokens, bool early, SpecialTokens special);

  struct Match {
    size_t begin, end;        // bytes of the text, stripped white space included
    const AddedToken* token;  // null: none up to the end of the text
  };

  /// The first match at or after `from`.
  Match find(std::string_view text, size_t from) const;

 private:
  /// The longest token that `text`, which is not empty, begins with; null if there is none.
  const AddedToken* longest_at(std::string_view text) const;

  std::vector<AddedToken> tokens_;        // by name
  std::array<size_t, 257> first_with_{};  // by their first byte: where in `tokens_` they begin
};

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
