#include "tessera/data/pre_token_scanner.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdexcept>
#include <string>

#include "tessera/data/utf8.h"

namespace tessera {
namespace {

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatchData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

/// GPT-2's pattern. White_Space is spelt out because PCRE2's \s has U+180E besides.
std::string pattern() {
  const std::string space =
      "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"
      "\\x{205f}\\x{3000}";
  return "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" + space + "\\p{L}\\p{N}]+|[" + space +
         "]+(?![^" + space + "])|[" + space + "]+";
}

const pcre2_code* compiled_pattern() {
  static const std::unique_ptr<pcre2_code, FreeCode> code = [] {
    const std::string text = pattern();
    int error = 0;
    PCRE2_SIZE offset = 0;
    std::unique_ptr<pcre2_code, FreeCode> compiled(
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &offset, nullptr));
    if (!compiled)
      throw std::logic_error("PCRE2 refuses GPT-2's pattern at byte " + std::to_string(offset));
    // Where PCRE2 has no compiler for this machine, its interpreter gives the same matches.
    pcre2_jit_compile(compiled.get(), PCRE2_JIT_COMPLETE);
    return compiled;
  }();
  return code.get();
}

bool is_ascii_letter(char c) {
  return static_cast<unsigned>((c | 0x20) - 'a') < 26;
}

/// The length of the pre-token at `position` where it is an English word, optionally after a space,
/// and ASCII follows: most of most texts, faster than through the pattern. Otherwise 0.
size_t ascii_word(std::string_view text, size_t position) {
  size_t end = position + (text[position] == ' ');
  const size_t letters = end;
  while (end < text.size() && is_ascii_letter(text[end])) ++end;
  const bool letters_may_follow = end < text.size() && (text[end] & 0x80) != 0;
  return end == letters || letters_may_follow ? 0 : end - position;
}

}  // namespace

struct PreTokenScanner::Matcher {
  const pcre2_code* code = compiled_pattern();
  std::unique_ptr<pcre2_match_data, FreeMatchData> data{pcre2_match_data_create(1, nullptr)};
};

PreTokenScanner::PreTokenScanner() : matcher_(std::make_unique<Matcher>()) {}
PreTokenScanner::~PreTokenScanner() = default;
PreTokenScanner::PreTokenScanner(PreTokenScanner&&) noexcept = default;
PreTokenScanner& PreTokenScanner::operator=(PreTokenScanner&&) noexcept = default;

void PreTokenScanner::start(std::string_view text) {
  segment_ = text.substr(0, utf8::valid_prefix(text));
  rest_ = text.substr(segment_.size());
  position_ = 0;
}

std::string_view PreTokenScanner::take_invalid_run() {
  size_t length = 0;
  do ++length;
  while (length < rest_.size() && utf8::valid_prefix(rest_.substr(length, 4)) == 0);
  const std::string_view invalid = rest_.substr(0, length);
  start(rest_.substr(length));
  return invalid;
}

std::string_view PreTokenScanner::next() {
  if (position_ == segment_.size()) return rest_.empty() ? rest_ : take_invalid_run();
  if (const size_t length = ascii_word(segment_, position_)) {
    position_ += length;
    return segment_.substr(position_ - length, length);
  }
  const int found =
      pcre2_match(matcher_->code, reinterpret_cast<PCRE2_SPTR>(segment_.data()), segment_.size(),
                  position_, PCRE2_NO_UTF_CHECK, matcher_->data.get(), nullptr);
  if (found < 0)
    throw std::runtime_error("PCRE2 gave up on a pre-token, error " + std::to_string(found));
  const size_t end = pcre2_get_ovector_pointer(matcher_->data.get())[1];
  const std::string_view word = segment_.substr(position_, end - position_);
  position_ = end;
  return word;
}

}  // namespace tessera
