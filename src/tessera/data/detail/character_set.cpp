#include "tessera/data/detail/character_set.h"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "tessera/base/utf8.h"

namespace tessera {
namespace {

constexpr size_t kLongestTag = 1024;  // bytes, of one that names a character set
constexpr std::string_view kSpace = " \t\n\r\f";

constexpr const char* kLatin = "windows-1252";

/// What browsers take some names for (the WHATWG's Encoding Standard), and names that iconv does
/// not know.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"ascii", kLatin},
    {"us-ascii", kLatin},
    {"iso-8859-1", kLatin},
    {"latin1", kLatin},
    {"gb2312", "gb18030"},
    {"gbk", "gb18030"},
    {"ks_c_5601-1987", "cp949"},
    {"euc-kr", "cp949"},
    {"iso-8859-8-i", "iso-8859-8"},
    {"x-mac-cyrillic", "mac-cyrillic"},
    {"x-mac-roman", "macintosh"}};

/// The value of an attribute, or of a parameter in the value of one: what stands behind `name`, an
/// equals sign and perhaps a quote. Empty where there is none.
std::string_view value_of(std::string_view tag, std::string_view name) {
  for (size_t found = tag.find(name); found != std::string_view::npos;
       found = tag.find(name, found + 1)) {
    const size_t equals = tag.find_first_not_of(kSpace, found + name.size());
    if (equals == std::string_view::npos || tag[equals] != '=') continue;
    const size_t begin = std::min(tag.find_first_not_of(" \t\n\r\f\"'", equals + 1), tag.size());
    return tag.substr(begin, tag.find_first_of(" \t\n\r\f\"';/?", begin) - begin);
  }
  return {};
}

/// As the page names it first, in small letters; empty where it names none.
std::string named_character_set(std::string_view page) {
  for (size_t begin = page.find('<'); begin != std::string_view::npos;
       begin = page.find('<', begin + 1)) {
    const std::string start = in_small_letters(page.substr(begin, 5));
    const bool is_declaration = start == "<?xml";
    if (!is_declaration && start != "<meta") continue;
    std::string tag = in_small_letters(page.substr(begin, kLongestTag));
    tag.resize(std::min(tag.find('>'), tag.size()));
    const auto name = value_of(tag, is_declaration ? "encoding" : "charset");
    if (!name.empty()) return std::string(name);
  }
  return {};
}

/// The name that iconv knows it by.
std::string known_name(std::string name) {
  for (const auto& [alias, known] : kAliases)
    if (name == alias) return std::string(known);
  if (name.starts_with("x-")) name.erase(0, 2);
  return name.empty() ? kLatin : name;
}

/// Converts bytes of a character set to UTF-8.
class Converter {
 public:
  explicit Converter(const std::string& character_set)
      : converter_(::iconv_open("UTF-8", character_set.c_str())) {}
  ~Converter() {
    if (is_known()) ::iconv_close(converter_);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  bool is_known() const { return converter_ != reinterpret_cast<iconv_t>(intptr_t{-1}); }

  std::string converted(std::string_view bytes) {
    std::string text;
    ::iconv(converter_, nullptr, nullptr, nullptr, nullptr);  // as at the beginning of a text
    while (!bytes.empty()) {
      if (convert(&bytes, text)) continue;
      text += utf8::kReplacement;
      bytes.remove_prefix(1);
    }
    convert(nullptr, text);
    return text;
  }

 private:
  /// Takes from the bytes what makes characters and appends these; without bytes, what was held
  /// back. Returns whether the next bytes make a character, too, or none are left.
  bool convert(std::string_view* bytes, std::string& text) {
    std::array<char, 1 << 14> buffer;
    char* in =
        bytes == nullptr ? nullptr : const_cast<char*>(bytes->data());  // iconv only reads it
    size_t left = bytes == nullptr ? 0 : bytes->size();
    char* end = buffer.data();
    size_t room = buffer.size();
    const bool goes_on = ::iconv(converter_, bytes == nullptr ? nullptr : &in, &left, &end,
                                 &room) != static_cast<size_t>(-1) ||
                         errno == E2BIG;
    text.append(buffer.data(), end);
    if (bytes != nullptr) bytes->remove_prefix(bytes->size() - left);
    return goes_on;
  }

  iconv_t converter_;
};

/// The text with U+FFFD for what is not UTF-8.
std::string repaired(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const size_t length = utf8::valid_prefix(text);
    valid += text.substr(0, length);
    text.remove_prefix(length);
    if (text.empty()) break;
    valid += utf8::kReplacement;
    text.remove_prefix(utf8::front_of(text).length);
  }
  return valid;
}

std::string converted(std::string_view page, const std::string& character_set) {
  Converter converter(character_set);
  // A page that names its character set in ASCII is not in UTF-16, say.
  if (converter.is_known() && converter.converted("<meta>") == "<meta>")
    return converter.converted(page);
  return Converter(kLatin).converted(page);
}

}  // namespace

std::string page_in_utf8(std::string_view page) {
  if (page.starts_with("\xFE\xFF") || page.starts_with("\xFF\xFE"))
    return repaired(Converter("utf-16").converted(page));
  const std::string name = named_character_set(page);
  const bool claims_utf8 = name == "utf-8" || name == "utf8";
  return repaired(claims_utf8 ? std::string(page) : converted(page, known_name(name)));
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  });
  return small;
}

}  // namespace tessera
