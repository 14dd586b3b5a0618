#include "tessera/base/text_matcher.h"

#include <utility>

namespace tessera {

TextMatcher::TextMatcher(std::string text) : text_(std::move(text)), shorter_(text_.size() + 1) {
  for (size_t n = 1; n < text_.size(); ++n) {
    add(text_[n]);
    shorter_[n + 1] = matched_;
  }
  matched_ = 0;
}

bool TextMatcher::add(char byte) {
  if (matched_ == text_.size()) matched_ = shorter_[matched_];
  while (matched_ > 0 && text_[matched_] != byte) matched_ = shorter_[matched_];
  matched_ += text_[matched_] == byte;
  return matched_ == text_.size();
}

}  // namespace tessera
