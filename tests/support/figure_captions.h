#pragma once

#include <regex>
#include <string>
#include <vector>

namespace tessera::test {

/// The captions of the pictures of a report.html, in order; "" for a picture without one.
inline std::vector<std::string> figure_captions(const std::string& page) {
  const std::string picture = "<figure>\n<div class=\"wide\">", open = "<figcaption>";
  std::vector<std::string> captions;
  for (size_t at = page.find(picture); at != std::string::npos; at = page.find(picture, at + 1)) {
    const size_t end = page.find("</figure>", at), caption = page.find(open, at);
    captions.emplace_back();
    if (caption > end) continue;
    const size_t first = caption + open.size();
    captions.back() = page.substr(first, page.find("</figcaption>", first) - first);
  }
  return captions;
}

/// Whether a caption names what the paper says there: an equation, a statement or a section.
inline bool names_its_source(const std::string& caption) {
  static const std::regex source(
      "eqs?\\. [0-9]|\\([0-9]+\\)|Theorem [0-9]|Proposition [0-9]|Lemma [0-9]|[Ss]ection "
      "[0-9A]|[Aa]ppendix [A-Z]");
  return std::regex_search(caption, source);
}

}  // namespace tessera::test
