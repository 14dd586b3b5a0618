#include "tests/report/markup_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <vector>

namespace tessera {
namespace {

bool has_bare_ampersand(const std::string& text) {
  static const std::regex entity("&(amp|lt|gt|quot|#[0-9]+);");
  return std::regex_replace(text, entity, "").find('&') != std::string::npos;
}

bool is_name(const std::string& text, const std::string& also = "") {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](unsigned char c) {
           return std::isalnum(c) || also.find(static_cast<char>(c)) != std::string::npos;
         });
}

// Checks `name a="b" c="d"` and returns the element's name, or an empty string. Not by one regular
// expression: std::regex recurses once a character, and values are long.
std::string element_name(const std::string& tag) {
  constexpr const char* kSpaces = " \t\r\n";
  const std::string name = tag.substr(0, tag.find_first_of(kSpaces));
  if (!is_name(name)) return "";
  std::set<std::string> names;
  for (size_t at = name.size(); at < tag.size();) {
    const size_t begin = tag.find_first_not_of(kSpaces, at);
    if (begin == std::string::npos) break;
    const size_t equals = tag.find("=\"", begin);
    if (begin == at || equals == std::string::npos) return "";
    const size_t end = tag.find('"', equals + 2);
    if (end == std::string::npos) return "";
    const std::string attribute = tag.substr(begin, equals - begin);
    const std::string value = tag.substr(equals + 2, end - equals - 2);
    if (!is_name(attribute, ":-") || !names.insert(attribute).second ||
        value.find('<') != std::string::npos || has_bare_ampersand(value))
      return "";
    at = end + 1;
  }
  return name;
}

}  // namespace

std::string markup_fault(const std::string& document) {
  std::vector<std::string> open;
  size_t at = document.starts_with("<!DOCTYPE html>") ? 15 : 0;
  while (true) {
    const size_t start = document.find('<', at);
    if (has_bare_ampersand(document.substr(at, start - at))) return "bare & in text";
    if (start == std::string::npos) break;
    const size_t end = document.find('>', start);
    if (end == std::string::npos) return "tag without an end";
    std::string tag = document.substr(start + 1, end - start - 1);
    at = end + 1;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return "unexpected <" + tag + ">";
      open.pop_back();
      continue;
    }
    const bool closes_itself = tag.ends_with('/');
    if (closes_itself) tag.pop_back();
    const std::string name = element_name(tag);
    if (name.empty()) return "malformed <" + tag + ">";
    if (!closes_itself) open.push_back(name);
    if (name == "script" || name == "style") at = document.find("</" + name + ">", at);
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

TEST(MarkupWalk, FindsWhatIsWrong) {
  EXPECT_EQ(markup_fault("<a b=\"c &amp; d\">e &lt; f<g/></a>"), "");
  EXPECT_EQ(markup_fault("<a><b></a></b>"), "unexpected </a>");
  EXPECT_EQ(markup_fault("<a>"), "<a> is never closed");
  EXPECT_EQ(markup_fault("<a>x & y</a>"), "bare & in text");
  EXPECT_EQ(markup_fault("<a b=c></a>"), "malformed <a b=c>");
  EXPECT_EQ(markup_fault("<a b=\"1\" b=\"2\"></a>"), "malformed <a b=\"1\" b=\"2\">");
}

}  // namespace tessera
