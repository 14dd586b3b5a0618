#include "tessera/data/text_encoder.h"

#include <algorithm>
#include <utility>

#include "tessera/data/detail/tokenizer_content.h"

namespace tessera {
namespace {

bool is_visible(char c) {
  return c > ' ' && c < '\x7F';
}

/// Whether the token's name may reach over a place that cut() gives, or its white space does.
bool reaches_across(const AddedToken& token) {
  return token.strips_left || token.strips_right ||
         std::ranges::adjacent_find(token.name, [](char c, char next) {
           return is_visible(c) && (next == '\n' || next == ' ');
         }) != token.name.end();
}

/// Whether text may be cut before a newline that follows a visible ASCII character, or a space
/// between two, without a change of ids. GPT-2's pattern always ends a pre-token there, another
/// pattern may not.
bool newlines_separate(const TokenizerContent& content) {
  if (const auto* bpe = std::get_if<BpeModel>(&content.model))
    if (!bpe->rule().split || bpe->rule().pattern || bpe->rule().add_prefix_space) return false;
  return std::ranges::none_of(content.added_tokens, reaches_across);
}

}  // namespace

struct TextEncoder::Working {
  AddedTokenFinder early, late;
  BpeModel::Workspace workspace = {};
};

TextEncoder::TextEncoder(Tokenizer tokenizer, SpecialTokens special)
    : tokenizer_(std::move(tokenizer)),
      newlines_separate_(newlines_separate(tokenizer_.content())) {
  const auto& added = tokenizer_.content().added_tokens;
  working_ = std::make_unique<Working>(
      Working{.early = {added, true, special}, .late = {added, false, special}});
}

TextEncoder::TextEncoder(TextEncoder&&) = default;
TextEncoder::~TextEncoder() = default;

void TextEncoder::append(std::string_view text, std::vector<int32_t>& ids) {
  append_piece(text, 0, text.size(), ids);
}

void TextEncoder::append_piece(std::string_view text, size_t begin, size_t end,
                               std::vector<int32_t>& ids) {
  const auto between_tokens = [&](const AddedTokenFinder& finder, std::string_view part,
                                  auto&& encode) {
    for (size_t position = 0; position < part.size();) {
      const auto match = finder.find(part, position);
      encode(part.substr(position, match.begin - position));
      if (match.token != nullptr) ids.push_back(match.token->id);
      position = match.end;
    }
  };
  between_tokens(working_->early, text.substr(begin, end - begin), [&](std::string_view outer) {
    between_tokens(working_->late, outer, [&](std::string_view plain) {
      append_plain(plain, plain.data() - text.data(), ids);
    });
  });
}

void TextEncoder::append_plain(std::string_view part, size_t offset, std::vector<int32_t>& ids) {
  const auto& model = tokenizer_.content().model;
  if (const auto* bpe = std::get_if<BpeModel>(&model)) {
    bpe->encode(part, working_->workspace, ids);
  } else if (const auto* characters = std::get_if<CharacterModel>(&model)) {
    characters->encode(part, offset, ids);
  } else {
    for (char byte : part) ids.push_back(static_cast<uint8_t>(byte));
  }
}

size_t TextEncoder::cut(std::string_view text, size_t least) const {
  if (!newlines_separate_) return text.size();
  for (size_t i = std::max<size_t>(1, least); i < text.size(); ++i)
    if (is_visible(text[i - 1]) &&
        (text[i] == '\n' || (text[i] == ' ' && i + 1 < text.size() && is_visible(text[i + 1]))))
      return i;
  return text.size();
}

std::function<std::span<const int32_t>()> TextEncoder::pieces(std::string_view text) {
  return [this, text, begin = size_t{0},
          ids = std::vector<int32_t>()]() mutable -> std::span<const int32_t> {
    ids.clear();
    while (ids.empty() && begin < text.size()) {
      const size_t end = begin + cut(text.substr(begin), kPieceBytes);
      append_piece(text, begin, end, ids);
      begin = end;
    }
    return ids;
  };
}

}  // namespace tessera
