#include "tessera/store/detail/normal_form.h"

#include <locale.h>
#include <wctype.h>

#include <stdexcept>

namespace tessera::store {
namespace {

bool is_invisible(char32_t character) {
  return character == 0x00AD || is_in(character, 0x200B, 0x200D) || character == 0x2060 ||
         character == 0xFEFF;
}

/// As a keyboard writes it.
char32_t typed(char32_t character) {
  if (is_in(character, 0x2018, 0x201B) || character == 0x2032) return U'\'';
  if (is_in(character, 0x201C, 0x201F) || character == 0x2033 || character == 0x00AB ||
      character == 0x00BB)
    return U'"';
  if (is_in(character, 0x2010, 0x2015) || character == 0x2212) return U'-';
  return utf8::is_space(character) ? U' ' : character;
}

}  // namespace

char32_t lower_case(char32_t letter) {
  if (letter < 0x80) return is_in(letter, U'A', U'Z') ? letter + 0x20 : letter;
  static const locale_t unicode = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (unicode == nullptr) throw std::runtime_error("the C library has no locale C.UTF-8");
  if (letter == U'ς') return U'σ';  // capitals have one form of both
  return static_cast<char32_t>(::towlower_l(static_cast<wint_t>(letter), unicode));
}

void NormalForm::append(std::string_view bytes) {
  if (matching_ == Matching::kBytes) {
    for (size_t i = 0; i < bytes.size(); ++i, ++read_)
      add_bytes(bytes.substr(i, 1), read_, read_ + 1);
    return;
  }
  characters_.append(bytes, [&](std::string_view own, std::optional<char32_t> character) {
    const int64_t begin = read_;
    read_ += std::ssize(own);
    if (character)
      add(*character, begin, read_);
    else
      add_bytes(own, begin, read_);
  });
}

void NormalForm::add(char32_t character, int64_t begin, int64_t end) {
  if (is_invisible(character)) return;
  if (character == 0x2026) return add_bytes("...", begin, end);
  character = typed(character);
  if (matching_ == Matching::kLetters) character = lower_case(character);
  const bool runs = character == U' ' || character == U'-';
  if (runs && !text_.empty() && text_.back() == static_cast<char>(character)) {
    ends_.back() = end;
    return;
  }
  std::string bytes;
  utf8::append(bytes, character);
  add_bytes(bytes, begin, end);
}

void NormalForm::add_bytes(std::string_view bytes, int64_t begin, int64_t end) {
  text_ += bytes;
  begins_.insert(begins_.end(), bytes.size(), begin);
  ends_.insert(ends_.end(), bytes.size(), end);
}

void NormalForm::drop(size_t bytes) {
  text_.erase(0, bytes);
  begins_.erase(begins_.begin(), begins_.begin() + bytes);
  ends_.erase(ends_.begin(), ends_.begin() + bytes);
}

}  // namespace tessera::store
