#include "tessera/data/detail/added_tokens.h"

#include <algorithm>

#include "tessera/data/utf8.h"

namespace tessera {
namespace {

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
    while (character > 0 && begin - character < 4 && (text[character] & 0xC0) == 0x80) --character;
    std::string_view last = text.substr(character, begin - character);
    if (utf8::valid_prefix(last) != last.size() || !utf8::is_space(utf8::take(last))) break;
    begin = character;
  }
  return begin;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(const std::vector<AddedToken>& tokens, bool early,
                                   bool find_special) {
  for (const AddedToken& token : tokens) {
    if (token.early != early || (token.special && !find_special)) continue;
    by_first_byte_[static_cast<uint8_t>(token.name.front())].push_back(token);
    empty_ = false;
  }
  for (auto& candidates : by_first_byte_)
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto& a, const auto& b) { return a.name.size() > b.name.size(); });
}

AddedTokenFinder::Match AddedTokenFinder::find(std::string_view text, size_t from) const {
  for (size_t begin = from; !empty_ && begin < text.size(); ++begin) {
    for (const AddedToken& token : by_first_byte_[static_cast<uint8_t>(text[begin])]) {
      if (!text.substr(begin).starts_with(token.name)) continue;
      size_t end = begin + token.name.size();
      if (token.strips_right) end += leading_space(text.substr(end));
      if (token.strips_left) begin = from + trailing_space_begin(text.substr(from, begin - from));
      return {begin, end, &token};
    }
  }
  return {text.size(), text.size(), nullptr};
}

}  // namespace tessera
