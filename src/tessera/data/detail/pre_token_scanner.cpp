#define PCRE2_CODE_UNIT_WIDTH 8

#include "tessera/data/detail/pre_token_scanner.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// White_Space as the inside of a character class: PCRE2's \s has U+180E besides.
constexpr std::string_view kWhiteSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

constexpr std::array<std::string_view, 37> kCategories = {
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl",
    "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk",
    "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Cn", "Co", "Cs"};

constexpr std::array<std::string_view, 7> kGroups = {"(?:",  "(?i:", "(?=", "(?!",
                                                     "(?<=", "(?<!", "(?>"};

/// Rewrites a pattern for PCRE2, which reads some of Oniguruma's constructs otherwise; those it
/// refuses.
class Translator {
 public:
  explicit Translator(std::string_view regex) : rest_(regex) {}

  std::string translate() {
    while (!rest_.empty()) {
      if (rest_.front() == '\\')
        take_escape(/*in_class=*/false);
      else if (rest_.front() == '[')
        take_class();
      else if (rest_.front() == '(')
        take_group();
      else if (rest_.front() == '{')
        take_count();
      else if (rest_.front() == '^' || rest_.front() == '$')
        refuse(1);
      else
        copy(1);
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(size_t length) const {
    throw UsageError("'{}' is not supported", rest_.substr(0, length));
  }
  void copy(size_t length) {
    result_ += rest_.substr(0, length);
    rest_.remove_prefix(length);
  }
  void replace(size_t length, std::string_view by) {
    result_ += by;
    rest_.remove_prefix(length);
  }

  /// \p{L}, \x{1F600}: up to the closing brace.
  size_t braced_length() const {
    const size_t end = rest_.find('}');
    if (rest_.substr(2, 1) != "{" || end == std::string_view::npos) refuse(2);
    return end + 1;
  }

  void take_escape(bool in_class) {
    const char kind = rest_.size() > 1 ? rest_[1] : '\0';
    const std::string white_space(kWhiteSpace);
    if (kind == 's') return replace(2, in_class ? white_space : "[" + white_space + "]");
    if (kind == 'S') return replace(2, in_class ? R"(\P{White_Space})" : "[^" + white_space + "]");
    if (kind == 'p' || kind == 'P') {
      const size_t length = braced_length();
      const auto name = rest_.substr(3, length - 4);
      if (std::ranges::find(kCategories, name) == kCategories.end()) refuse(length);
      return copy(length);
    }
    if (kind == 'x') return copy(braced_length());
    const bool letter_or_digit = ((kind | 0x20) >= 'a' && (kind | 0x20) <= 'z') ||
                                 (kind >= '0' && kind <= '9') || kind == '\0' || (kind & 0x80) != 0;
    if (letter_or_digit && std::string_view("dDrntf").find(kind) == std::string_view::npos)
      refuse(2);
    copy(2);
  }

  void take_class() {
    copy(rest_.starts_with("[^") ? 2 : 1);
    if (rest_.starts_with(']')) refuse(1);
    while (!rest_.empty() && rest_.front() != ']') {
      if (rest_.front() == '[') refuse(1);  // sets in sets, POSIX classes
      if (rest_.starts_with("&&")) refuse(2);
      if (rest_.front() == '\\')
        take_escape(/*in_class=*/true);
      else
        copy(1);
    }
    if (!rest_.empty()) copy(1);
  }

  void take_group() {
    if (rest_.starts_with("(*")) refuse(2);
    if (!rest_.starts_with("(?")) return copy(1);
    for (std::string_view group : kGroups)
      if (rest_.starts_with(group)) return copy(group.size());
    refuse(3);
  }

  /// {2}, {2,} or {2,3}; what follows it must not change its meaning.
  void take_count() {
    const size_t end = rest_.find_first_not_of("0123456789,", 1);
    if (end == std::string_view::npos || rest_[end] != '}' || end == 1 || rest_[1] == ',')
      refuse(1);
    copy(end + 1);
    if (rest_.find_first_of("?+*{") == 0) refuse(1);
  }

  std::string_view rest_;
  std::string result_;
};

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

void PreTokenPattern::FreeCode::operator()(pcre2_real_code_8* code) const {
  pcre2_code_free(code);
}

const PreTokenPattern& PreTokenPattern::gpt2() {
  static const PreTokenPattern pattern(kGpt2);
  return pattern;
}

PreTokenPattern::PreTokenPattern(std::string_view regex) : text_(regex) {
  const std::string translated = Translator(regex).translate();
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                            PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
  if (!code_) {
    std::array<PCRE2_UCHAR, 256> reason{};
    pcre2_get_error_message(error, reason.data(), reason.size());
    throw UsageError("{}", reinterpret_cast<const char*>(reason.data()));
  }
  uint32_t matches_empty = 0;
  pcre2_pattern_info(code_.get(), PCRE2_INFO_MATCHEMPTY, &matches_empty);
  check_argument(!matches_empty, "it can match the empty text");
  // Where PCRE2 has no compiler for this machine, its interpreter gives the same matches.
  pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
}

void PreTokenScanner::FreeMatch::operator()(pcre2_real_match_data_8* match) const {
  pcre2_match_data_free(match);
}

PreTokenScanner::PreTokenScanner() : match_(pcre2_match_data_create(1, nullptr)) {}

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
                  position_, PCRE2_NO_UTF_CHECK, match_.get(), nullptr);
  if (found == PCRE2_ERROR_NOMATCH) return take_until(segment_.size());
  if (found < 0)
    throw std::runtime_error(
        fmt::format("the tokenizer's pattern takes too long on this text (PCRE2 error {})", found));
  const size_t* match = pcre2_get_ovector_pointer(match_.get());
  return take_until(match[0] > position_ ? match[0] : match[1]);
}

}  // namespace tessera
