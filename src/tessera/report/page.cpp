#include "tessera/report/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/report/text.h"

namespace tessera {
namespace {

/// The page's own CSS; the charts' is kChartStyle.
constexpr std::string_view kPageStyle = R"(:root{color-scheme:light dark;
--page:#f5f6f7;--card:#fff;--text:#1d2126;--soft:#5c6670;--rule:#e1e5e8;--code:#f1f3f5;--link:#0b6cb4}
@media (prefers-color-scheme:dark){:root{
--page:#101215;--card:#171a1e;--text:#e8eaed;--soft:#a3acb5;--rule:#2a2f35;--code:#1f2429;--link:#6cb8ef}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--text);line-height:1.6;font-size:1rem;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif}
main{max-width:50rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}
header{margin-bottom:2rem}
h1{font-size:1.9rem;line-height:1.2;letter-spacing:-.015em;margin:0 0 .4rem;text-wrap:balance}
.subtitle{color:var(--soft);font-size:1.05rem;margin:0;text-wrap:balance}
h2{font-size:1.3rem;line-height:1.3;letter-spacing:-.01em;margin:2.75rem 0 .75rem;padding-top:1.1rem;border-top:1px solid var(--rule)}
p,li{max-width:42rem}p{margin:.75rem 0}ul{padding-left:1.25rem}li{margin:.3rem 0}
a{color:var(--link);text-underline-offset:.15em}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.35rem 1.1rem;padding:0;margin:1.1rem 0 0;font-size:.92rem}
nav li{margin:0}
figure{margin:1.4rem 0;background:var(--card);border:1px solid var(--rule);border-radius:10px;overflow:hidden}
figure svg{display:block;width:100%;height:auto}
figure svg.tessera-chart{--surface:var(--card)}
.narrow{display:none}
figcaption{padding:0 1rem .8rem;color:var(--soft);font-size:.92rem;max-width:44rem}
details{border-top:1px solid var(--rule);font-size:.88rem}
summary{cursor:pointer;padding:.6rem 1rem;color:var(--soft)}
summary:hover{color:var(--text)}
details .tools{padding:0 1rem .5rem}
.scroll{overflow:auto;max-height:26rem}
.block{position:relative;margin:1rem 0}
pre{margin:0;padding:.85rem 1rem;background:var(--code);border:1px solid var(--rule);border-radius:8px;overflow:auto;max-height:30rem;white-space:pre-wrap;overflow-wrap:anywhere;
font:.86rem/1.55 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;tab-size:4}
.command pre{padding-right:5.5rem}
.command span{display:inline-block;max-width:100%}
.conclusion{font-size:1.12rem;line-height:1.5}
.warning{border-left:.35rem solid #d1372c;padding-left:.8rem}
.label{color:var(--soft);font-size:.88rem;margin:0 0 .3rem}
button{font:inherit;font-size:.82rem;color:var(--text);background:var(--card);border:1px solid var(--rule);border-radius:6px;padding:.2rem .65rem;cursor:pointer}
button:hover{border-color:var(--soft)}
.command button{position:absolute;top:.5rem;right:.5rem}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.wide-table{overflow-x:auto;margin:1.25rem 0;background:no-repeat scroll;background-attachment:local,local,scroll,scroll;
background-image:linear-gradient(to right,var(--page) 40%,transparent),linear-gradient(to left,var(--page) 40%,transparent),linear-gradient(to right,#8886,transparent),linear-gradient(to left,#8886,transparent);
background-position:left,right,left,right;background-size:2rem 100%,2rem 100%,.6rem 100%,.6rem 100%}
.wide-table table{width:100%}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums;min-width:min(100%,24rem)}
caption{text-align:left;font-weight:600;padding:0 0 .5rem}
th{text-align:left;font-weight:600;color:var(--soft);font-size:.85rem;border-bottom:1px solid var(--soft);vertical-align:bottom}
th,td{padding:.38rem .9rem .38rem 0;overflow-wrap:break-word}
td{border-bottom:1px solid var(--rule);vertical-align:top;min-width:2.5rem}
td.long{overflow-wrap:anywhere}
th.number,td.number{text-align:right;overflow-wrap:normal}
td.number{white-space:nowrap}
td code{font-size:.85rem}
figure table{margin:0 1rem 1rem;font-size:.85rem;width:calc(100% - 2rem)}
figure .scroll thead th{position:sticky;top:0;background:var(--card)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.35rem 1.25rem;margin:1rem 0;font-size:.92rem}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
footer{margin-top:3rem;padding-top:1rem;border-top:1px solid var(--rule);color:var(--soft);font-size:.85rem}
#tip{position:fixed;z-index:1;pointer-events:none;background:#14171a;color:#fff;border:1px solid #3a4046;font-size:.82rem;line-height:1.45;
padding:.35rem .6rem;border-radius:6px;white-space:pre-line;max-width:20rem;box-shadow:0 2px 10px rgba(0,0,0,.25)}
@media (max-width:40rem){main{padding:1.5rem .9rem 3rem}h1{font-size:1.5rem}
.wide{display:none}.narrow{display:block}figure{margin-left:-.35rem;margin-right:-.35rem}
dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}}
@media print{body{background:#fff}figure,pre,table{break-inside:avoid}button{display:none}td{overflow-wrap:anywhere}}
)";

/// Tooltips and copying.
constexpr std::string_view kPageScript = R"("use strict";
(() => {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  // The charts' own titles become our tooltips, so that the browser's do not appear as well.
  for (const title of document.querySelectorAll("svg title")) {
    const mark = title.parentNode;
    if (mark.tagName !== "svg") mark.dataset.tip = title.textContent;
    title.remove();
  }
  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest("[data-tip]");
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    const at = mark.getBoundingClientRect();
    const left = at.left + at.width / 2 - tip.offsetWidth / 2;
    tip.style.left = Math.max(6, Math.min(left, innerWidth - tip.offsetWidth - 6)) + "px";
    const above = at.top - tip.offsetHeight - 8;
    tip.style.top = (above > 4 ? above : at.bottom + 8) + "px";
  });
  document.addEventListener("scroll", () => { tip.hidden = true; }, true);
  const field = (text) => /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  const cellText = (cell) => field(cell.dataset.exact ?? cell.textContent);
  const tableText = (table) =>
    [...table.rows].map((row) => [...row.cells].map(cellText).join(",")).join("\n") + "\n";
  const selectionCopy = (text) => {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const box = button.closest(".block, details");
    const table = box.querySelector("table");
    const text = table ? tableText(table) : box.querySelector("pre").textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      selectionCopy(text);
    }
    const label = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1500);
  });
})();
)";

constexpr size_t kTableRows = 400;

std::string folded(std::string_view name, const Table& numbers) {
  const size_t count = numbers.rows().size();
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
  for (size_t begin = 0; begin < line.size();) {
    const size_t end = std::min(line.find(' ', begin), line.size());
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

void Page::warning(std::string_view text) {
  body_ += "<p class=\"conclusion warning\">" + escape_markup(text) + "</p>\n";
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
  has_script_ = true;
  body_ += "<div class=\"block command\"><pre>" + unbroken_words(line) +
           "</pre><button type=\"button\" data-copy=\"\">Copy</button></div>\n";
}

void Page::facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  body_ += "<dl>\n";
  for (const auto& [name, value] : facts)
    body_ += "<dt>" + escape_markup(name) + "</dt><dd>" + escape_markup(value) + "</dd>\n";
  body_ += "</dl>\n";
}

void Page::table(const Table& table) {
  body_ += "<div class=\"wide-table\">" + table.html() + "</div>\n";
}

void Page::data(std::string_view name, const Table& numbers) {
  has_script_ = true;
  body_ += "<figure>\n" + folded(name, numbers) + "</figure>\n";
}

void Page::chart(const Chart& chart, std::string_view caption) {
  has_script_ = true;
  body_ += "<figure>\n<div class=\"wide\">" + inline_svg(chart.draw(ChartWidth::kWide)) +
           "</div>\n<div class=\"narrow\">" + inline_svg(chart.draw(ChartWidth::kNarrow)) +
           "</div>\n";
  if (!caption.empty()) body_ += "<figcaption>" + escape_markup(caption) + "</figcaption>\n";
  body_ += folded("The numbers", chart.numbers()) + "</figure>\n";
}

std::string Page::html() const {
  std::string contents;
  for (size_t i = 0; i < headings_.size() && headings_.size() >= 3; ++i)
    contents += fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n", i + 1, headings_[i]);
  if (!contents.empty())
    contents = "<nav aria-label=\"Sections\"><ul>\n" + contents + "</ul></nav>\n";
  std::string subtitle;
  if (!subtitle_.empty()) subtitle = "<p class=\"subtitle\">" + escape_markup(subtitle_) + "</p>\n";
  const std::string script = has_script_ ? fmt::format("<script>\n{}</script>\n", kPageScript) : "";
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'{6}\"/>\n"
      "<title>{0}</title>\n<style>\n{1}{2}</style>\n</head>\n<body>\n<main>\n"
      "<header><h1>{0}</h1>\n{3}{4}</header>\n{5}"
      "<footer>Made by Tessera. This file holds everything it shows and loads nothing.</footer>\n"
      "</main>\n{7}</body>\n</html>\n",
      escape_markup(title_), kChartStyle, kPageStyle, subtitle, contents, body_,
      has_script_ ? "; script-src 'unsafe-inline'" : "", script);
}

}  // namespace tessera
