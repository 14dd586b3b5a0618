#include "tessera/data/detail/tokenizer_content.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

uint8_t byte_at(std::string_view text, size_t place) {
  return static_cast<uint8_t>(text[place]);
}

/// Bytes of white space at the start of `text`.
size_t leading_space(std::string_view text) {
  const size_t all = text.size();
  size_t space = 0;
  while (!text.empty() && utf8::valid_prefix(text.substr(0, 4)) > 0 &&
         utf8::is_space(utf8::take(text)))
    space = all - text.size();
  return space;
}

/// Where the white space that ends `text` begins.
size_t trailing_space_begin(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0) {
    size_t character = begin - 1;
    while (character > 0 && begin - character < 4 && utf8::continues_character(text[character]))
      --character;
    std::string_view last = text.substr(character, begin - character);
    if (utf8::valid_prefix(last) != last.size() || !utf8::is_space(utf8::take(last))) break;
    begin = character;
  }
  return begin;
}

}  // namespace

CharacterModel::CharacterModel(std::vector<char32_t> characters)
    : characters_(std::move(characters)) {
  for (size_t id = 0; id < characters_.size(); ++id)
    ids_.emplace(characters_[id], static_cast<int32_t>(id));
}

void CharacterModel::encode(std::string_view text, size_t offset, std::vector<int32_t>& ids) const {
  const size_t valid = utf8::valid_prefix(text);
  if (valid != text.size())
    throw DataError(fmt::format(
        "byte {} is not valid UTF-8, which a character tokenizer needs; convert the text or use a "
        "byte-level tokenizer",
        offset + valid));
  for (std::string_view rest = text; !rest.empty();) {
    const size_t place = offset + text.size() - rest.size();
    const char32_t character = utf8::take(rest);
    const auto found = ids_.find(character);
    if (found == ids_.end())
      throw DataError(fmt::format(
          "byte {}: the character U+{:04X} is not among the tokenizer's {}; train it on text that "
          "has it, or use a byte-level tokenizer",
          place, static_cast<uint32_t>(character), characters_.size()));
    ids.push_back(found->second);
  }
}

AddedTokenFinder::AddedTokenFinder(const std::vector<AddedToken>& tokens, bool early,
                                   SpecialTokens special) {
  for (const AddedToken& token : tokens)
    if (token.early == early && (!token.special || special == SpecialTokens::kRecognised))
      tokens_.push_back(token);
  std::ranges::sort(tokens_, {}, &AddedToken::name);
  for (const AddedToken& token : tokens_) ++first_with_[byte_at(token.name, 0) + 1];
  std::partial_sum(first_with_.begin(), first_with_.end(), first_with_.begin());
}

const AddedToken* AddedTokenFinder::longest_at(std::string_view text) const {
  const uint8_t first = byte_at(text, 0);
  auto candidates =
      std::span(tokens_).subspan(first_with_[first], first_with_[first + 1] - first_with_[first]);
  const AddedToken* longest = nullptr;
  // Candidates share their first `length` bytes with the text. One with no more is before the
  // others.
  for (size_t length = 1; !candidates.empty(); ++length) {
    if (candidates.front().name.size() == length) {
      longest = &candidates.front();
      candidates = candidates.subspan(1);
    }
    if (length == text.size()) break;
    const auto same = std::ranges::equal_range(
        candidates, byte_at(text, length), {},
        [&](const AddedToken& token) { return byte_at(token.name, length); });
    candidates = std::span(same);
  }
  return longest;
}

AddedTokenFinder::Match AddedTokenFinder::find(std::string_view text, size_t from) const {
  for (size_t begin = from; !tokens_.empty() && begin < text.size(); ++begin) {
    const AddedToken* const token = longest_at(text.substr(begin));
    if (token == nullptr) continue;
    size_t end = begin + token->name.size();
    if (token->strips_right) end += leading_space(text.substr(end));
    if (token->strips_left) begin = from + trailing_space_begin(text.substr(from, begin - from));
    return {begin, end, token};
  }
  return {text.size(), text.size(), nullptr};
}

}  // namespace tessera
