#include "tessera/store/text_search.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/data/utf8.h"

namespace tessera::store {
namespace {

constexpr size_t kContextBytes = 60;

bool continues_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) == 0x80;
}

/// The end of the line on which a match begins.
std::string text_before(std::string_view text) {
  text.remove_prefix(text.size() - std::min(text.size(), kContextBytes));
  if (const size_t line = text.rfind('\n'); line != std::string_view::npos)
    text.remove_prefix(line + 1);
  while (!text.empty() && continues_character(text.front())) text.remove_prefix(1);
  return std::string(text);
}

/// The beginning of the rest of the line on which a match ends.
std::string text_after(std::string_view text) {
  text = text.substr(0, kContextBytes);
  text = text.substr(0, text.find('\n'));
  return std::string(text.substr(0, utf8::valid_prefix(text)));
}

/// The part of a document that is being searched.
class Passage {
 public:
  Passage(std::string_view text, const std::string& id) : text_(text), id_(id) {}

  void append(std::string_view more) { passage_ += more; }

  /// Reports the matches that begin before the last `reserve` bytes, then drops what was searched.
  bool search(size_t reserve, const std::function<bool(const TextMatch&)>& take) {
    const size_t end = passage_.size() - std::min(reserve, passage_.size());
    const std::string_view passage = passage_;
    for (size_t at = passage.find(text_, searched_); at < end; at = passage.find(text_, at + 1)) {
      line_ += std::count(passage.begin() + counted_, passage.begin() + at, '\n');
      counted_ = at;
      if (!take({id_, line_, dropped_ + static_cast<int64_t>(at),
                 text_before(passage.substr(0, at)),
                 text_after(passage.substr(at + text_.size()))}))
        return false;
    }
    searched_ = std::max(searched_, end);
    drop(searched_ - std::min(searched_, kContextBytes));
    return true;
  }

 private:
  void drop(size_t bytes) {
    const size_t uncounted = std::max(counted_, bytes);
    line_ += std::count(passage_.begin() + counted_, passage_.begin() + uncounted, '\n');
    passage_.erase(0, bytes);
    dropped_ += static_cast<int64_t>(bytes);
    searched_ -= bytes;
    counted_ = uncounted - bytes;
  }

  std::string_view text_;
  const std::string& id_;
  std::string passage_;
  size_t searched_ = 0, counted_ = 0;  // matches are found, and lines counted, up to here
  int64_t dropped_ = 0, line_ = 1;
};

}  // namespace

bool find_text(std::string_view text, const std::string& id, const memo::TokenPieces& pieces,
               const Tokenizer& tokenizer, const std::function<bool(const TextMatch&)>& take) {
  check_argument(!text.empty(), "find: the text is empty; say what to look for");
  Passage passage(text, id);
  for (auto piece = pieces(); !piece.empty(); piece = pieces()) {
    for (const int32_t token : piece)
      if (token != tokenizer.end_of_text()) passage.append(tokenizer.token_bytes(token));
    if (!passage.search(text.size() + kContextBytes, take)) return false;
  }
  return passage.search(0, take);
}

}  // namespace tessera::store
