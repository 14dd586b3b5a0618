#include "tests/report/markup_walk.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <vector>

namespace tessera {
namespace {

bool has_bare_ampersand(const std::string& text) {
  static const std::regex entity("&(amp|lt|gt|quot|#[0-9]+);");
  return std::regex_replace(text, entity, "").find('&') != std::string::npos;
}

// Checks `name a="b" c="d"` and returns the element's name, or an empty string.
std::string element_name(const std::string& tag) {
  static const std::regex shape(
      R"(([A-Za-z][A-Za-z0-9]*)((\s+[A-Za-z][A-Za-z0-9:-]*="[^"<]*")*)\s*)");
  static const std::regex attribute(R"(([A-Za-z][A-Za-z0-9:-]*)="([^"]*)\")");
  std::smatch match;
  if (!std::regex_match(tag, match, shape)) return "";
  std::set<std::string> names;
  const std::string attributes = match[2];
  for (std::sregex_iterator it(attributes.begin(), attributes.end(), attribute), end; it != end;
       ++it) {
    if (!names.insert((*it)[1]).second || has_bare_ampersand((*it)[2])) return "";
  }
  return match[1];
}

}  // namespace

std::string markup_fault(const std::string& document) {
  std::vector<std::string> open;
  std::size_t at = document.starts_with("<!DOCTYPE html>") ? 15 : 0;
  while (true) {
    const std::size_t start = document.find('<', at);
    if (has_bare_ampersand(document.substr(at, start - at))) return "bare & in text";
    if (start == std::string::npos) break;
    const std::size_t end = document.find('>', start);
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
