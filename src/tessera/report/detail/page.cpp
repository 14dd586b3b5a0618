#include "tessera/report/detail/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/report/detail/page_style.h"
#include "tessera/report/text.h"

namespace tessera {
namespace {

constexpr std::size_t kTableRows = 400;

std::string folded(std::string_view name, const Table& numbers) {
  const std::size_t count = numbers.rows().size();
  const std::string data =
      count <= kTableRows ? numbers.html() : "<pre>" + escape_markup(numbers.csv()) + "</pre>\n";
  return fmt::format(
      "<details><summary>{} ({} {})</summary>\n"
      "<div class=\"tools\"><button type=\"button\" data-copy=\"\">Copy as CSV</button></div>\n"
      "<div class=\"scroll\">{}</div></details>\n",
      escape_markup(name), count, count == 1 ? "row" : "rows", data);
}

/// Browsers may break a line behind each hyphen of `--set`.
std::string unbroken_words(std::string_view line) {
  std::string html;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    html += "<span>" + escape_markup(line.substr(begin, end - begin)) + "</span>";
    if (end < line.size()) html += ' ';
    begin = end + 1;
  }
  return html;
}

}  // namespace

Page::Page(std::string title, std::string subtitle)
    : title_(std::move(title)), subtitle_(std::move(subtitle)) {}

void Page::section(std::string_view heading) {
  headings_.push_back(escape_markup(heading));
  body_ += fmt::format("<h2 id=\"section-{}\">{}</h2>\n", headings_.size(), headings_.back());
}

void Page::paragraph(std::string_view text) {
  body_ += "<p>" + escape_markup(text) + "</p>\n";
}

void Page::conclusion(std::string_view text) {
  body_ += "<p class=\"conclusion\">" + escape_markup(text) + "</p>\n";
}

void Page::list(const std::vector<std::string>& items) {
  body_ += "<ul>\n";
  for (const std::string& item : items) body_ += "<li>" + escape_markup(item) + "</li>\n";
  body_ += "</ul>\n";
}

void Page::preformatted(std::string_view text, std::string_view caption) {
  body_ += "<div class=\"block\">";
  if (!caption.empty()) body_ += "<p class=\"label\">" + escape_markup(caption) + "</p>";
  body_ += "<pre tabindex=\"0\">" + escape_markup(text) + "</pre></div>\n";
}

void Page::command(std::string_view line) {
  body_ += "<div class=\"block command\"><pre>" + unbroken_words(line) +
           "</pre><button type=\"button\" data-copy=\"\">Copy</button></div>\n";
}

void Page::facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  body_ += "<dl>\n";
  for (const auto& [name, value] : facts) {
    body_ += "<dt>" + escape_markup(name) + "</dt><dd>" + escape_markup(value) + "</dd>\n";
  }
  body_ += "</dl>\n";
}

void Page::table(const Table& table) {
  body_ += "<div class=\"wide-table\">" + table.html() + "</div>\n";
}

void Page::data(std::string_view name, const Table& numbers) {
  body_ += "<figure>\n" + folded(name, numbers) + "</figure>\n";
}

void Page::chart(const Chart& chart, std::string_view caption) {
  body_ += "<figure>\n<div class=\"wide\">" + inline_svg(chart.draw(ChartWidth::kWide)) +
           "</div>\n<div class=\"narrow\">" + inline_svg(chart.draw(ChartWidth::kNarrow)) +
           "</div>\n";
  if (!caption.empty()) body_ += "<figcaption>" + escape_markup(caption) + "</figcaption>\n";
  body_ += folded("The numbers", chart.numbers()) + "</figure>\n";
}

std::string Page::html() const {
  std::string contents;
  for (std::size_t i = 0; i < headings_.size() && headings_.size() >= 3; ++i) {
    contents += fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n", i + 1, headings_[i]);
  }
  if (!contents.empty()) {
    contents = "<nav aria-label=\"Sections\"><ul>\n" + contents + "</ul></nav>\n";
  }
  std::string subtitle;
  if (!subtitle_.empty()) subtitle = "<p class=\"subtitle\">" + escape_markup(subtitle_) + "</p>\n";
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\"/>\n"
      "<title>{0}</title>\n<style>\n{1}{2}</style>\n</head>\n<body>\n<main>\n"
      "<header><h1>{0}</h1>\n{3}{4}</header>\n{5}"
      "<footer>Made by Tessera. This file holds everything it shows and loads nothing.</footer>\n"
      "</main>\n<script>\n{6}</script>\n</body>\n</html>\n",
      escape_markup(title_), kChartStyle, kPageStyle, subtitle, contents, body_, kPageScript);
}

}  // namespace tessera
