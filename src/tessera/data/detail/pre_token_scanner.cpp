#include "tessera/data/detail/pre_token_scanner.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <fmt/format.h>

#include <stdexcept>

#include "tessera/data/utf8.h"

namespace tessera {
namespace {

bool is_ascii_letter(char c) {
  return static_cast<unsigned>((c | 0x20) - 'a') < 26;
}

/// The length of GPT-2's pre-token at `position` where it is an English word, optionally after a
/// space, and ASCII follows: most of most texts, faster than through the pattern. Otherwise 0.
size_t ascii_word(std::string_view text, size_t position) {
  size_t end = position + (text[position] == ' ');
  const size_t letters = end;
  while (end < text.size() && is_ascii_letter(text[end])) ++end;
  const bool letters_may_follow = end < text.size() && (text[end] & 0x80) != 0;
  return end == letters || letters_may_follow ? 0 : end - position;
}

}  // namespace

struct PreTokenScanner::MatchData {
  struct Free {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  };
  std::unique_ptr<pcre2_match_data, Free> data{pcre2_match_data_create(1, nullptr)};
};

PreTokenScanner::PreTokenScanner() : match_(std::make_unique<MatchData>()) {}
PreTokenScanner::~PreTokenScanner() = default;
PreTokenScanner::PreTokenScanner(PreTokenScanner&&) noexcept = default;
PreTokenScanner& PreTokenScanner::operator=(PreTokenScanner&&) noexcept = default;

void PreTokenScanner::start(std::string_view text, const PreTokenPattern& pattern) {
  pattern_ = &pattern;
  segment_ = text.substr(0, utf8::valid_prefix(text));
  rest_ = text.substr(segment_.size());
  position_ = 0;
}

std::string_view PreTokenScanner::take_invalid_run() {
  size_t length = 0;
  do ++length;
  while (length < rest_.size() && utf8::valid_prefix(rest_.substr(length, 4)) == 0);
  const std::string_view invalid = rest_.substr(0, length);
  start(rest_.substr(length), *pattern_);
  return invalid;
}

std::string_view PreTokenScanner::take_until(size_t end) {
  const std::string_view word = segment_.substr(position_, end - position_);
  position_ = end;
  return word;
}

std::string_view PreTokenScanner::next() {
  if (position_ == segment_.size()) return rest_.empty() ? rest_ : take_invalid_run();
  if (pattern_ == &PreTokenPattern::gpt2())
    if (const size_t length = ascii_word(segment_, position_))
      return take_until(position_ + length);
  const int found =
      pcre2_match(pattern_->code(), reinterpret_cast<PCRE2_SPTR>(segment_.data()), segment_.size(),
                  position_, PCRE2_NO_UTF_CHECK, match_->data.get(), nullptr);
  if (found == PCRE2_ERROR_NOMATCH) return take_until(segment_.size());
  if (found < 0)
    throw std::runtime_error(
        fmt::format("the tokenizer's pattern takes too long on this text (PCRE2 error {})", found));
  const size_t* match = pcre2_get_ovector_pointer(match_->data.get());
  return take_until(match[0] > position_ ? match[0] : match[1]);
}

}  // namespace tessera
