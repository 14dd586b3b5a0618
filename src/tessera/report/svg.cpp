#include "tessera/report/svg.h"

#include <fmt/format.h>

#include <cmath>

#include "tessera/report/text.h"

namespace tessera {

// Each rule first names the light colour itself, for viewers that know no CSS variables.
const std::string_view kChartStyle = R"(.tessera-chart{
--surface:#fff;--ink:#1d2126;--muted:#5c6670;--grid:#e6e9ec;--axis:#9aa3ab;
--s0:#0b6cb4;--s1:#d1570b;--s2:#0a8f6b;--s3:#b5508f;--s4:#a87a00;--s5:#2b93c9;--s6:#6d4fa8;--s7:#5b6168;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif}
@media (prefers-color-scheme:dark){.tessera-chart{
--surface:#171a1e;--ink:#e8eaed;--muted:#a3acb5;--grid:#2a2f35;--axis:#6b747d;
--s0:#5aaeea;--s1:#ff9152;--s2:#3fcb9e;--s3:#ea9bc9;--s4:#edba45;--s5:#9ad4f5;--s6:#b9a1ee;--s7:#b4bac1}}
.tessera-chart .surface{fill:#fff;fill:var(--surface)}
.tessera-chart text{font-size:12px;fill:#1d2126;fill:var(--ink);font-variant-numeric:tabular-nums}
.tessera-chart .title{font-size:15px;font-weight:600}
.tessera-chart text.muted{fill:#5c6670;fill:var(--muted)}
.tessera-chart .halo{paint-order:stroke;stroke:#fff;stroke:var(--surface);stroke-width:3;stroke-linejoin:round}
.tessera-chart .on-dark{fill:#fff}.tessera-chart .on-light{fill:#14171a}
.tessera-chart .grid{stroke:#e6e9ec;stroke:var(--grid);stroke-width:1}
.tessera-chart .axis{stroke:#9aa3ab;stroke:var(--axis);stroke-width:1}
.tessera-chart .leader{stroke:#9aa3ab;stroke:var(--axis);stroke-width:1;stroke-dasharray:1 3;fill:none}
.tessera-chart .reference{stroke:#5c6670;stroke:var(--muted);stroke-width:1.5;stroke-dasharray:6 4;fill:none}
.tessera-chart .second{stroke-dasharray:1.5 3.5;stroke-width:2;stroke:#1d2126;stroke:var(--ink)}
.tessera-chart .third{stroke-dasharray:10 3 2 3}
.tessera-chart .fourth{stroke-dasharray:14 4;stroke:#1d2126;stroke:var(--ink)}
.tessera-chart .coloured{stroke:currentColor}
.tessera-chart .s0{color:#0b6cb4;color:var(--s0)}.tessera-chart .s1{color:#d1570b;color:var(--s1)}
.tessera-chart .s2{color:#0a8f6b;color:var(--s2)}.tessera-chart .s3{color:#b5508f;color:var(--s3)}
.tessera-chart .s4{color:#a87a00;color:var(--s4)}.tessera-chart .s5{color:#2b93c9;color:var(--s5)}
.tessera-chart .s6{color:#6d4fa8;color:var(--s6)}.tessera-chart .s7{color:#5b6168;color:var(--s7)}
.tessera-chart .line{stroke:currentColor;stroke-width:2;fill:none;stroke-linejoin:round;stroke-linecap:round}
.tessera-chart .dense{stroke-width:1.4}
.tessera-chart .published{stroke:currentColor;stroke-width:1.25;stroke-dasharray:2 4;fill:none;stroke-linecap:round}
.tessera-chart .fill{fill:currentColor;stroke:#fff;stroke:var(--surface);stroke-width:1}
.tessera-chart .bar{fill:currentColor;fill-opacity:.85}
.tessera-chart .hollow{fill:#fff;fill:var(--surface);stroke:currentColor;stroke-width:1.3}
.tessera-chart .band{fill:currentColor;fill-opacity:.14}
.tessera-chart .whisker{stroke:currentColor;stroke-width:1.5;fill:none}
.tessera-chart .bar-whisker{stroke:#1d2126;stroke:var(--ink);stroke-width:1.25;fill:none}
.tessera-chart .marked{fill:none;stroke:#d1570b;stroke:var(--s1);stroke-width:2.5}
.tessera-chart .missing{fill:none;stroke:#9aa3ab;stroke:var(--axis);stroke-dasharray:2 2}
.tessera-chart .hover{fill:transparent;stroke:transparent;stroke-width:8}
.tessera-chart .hover:hover{fill:currentColor}
.tessera-chart .fill:hover,.tessera-chart .hollow:hover{stroke-width:4;stroke:currentColor}
.tessera-chart .bar:hover{fill-opacity:1}
)";

namespace {

std::string coordinate(double value) {
  return significant_text(std::round(value * 100) / 100, 8);
}

std::string closing(std::string_view tip, std::string_view element) {
  if (tip.empty()) return "/>\n";
  return fmt::format("><title>{}</title></{}>\n", escape_markup(tip), element);
}

std::string svg_element(const Drawing& drawing, std::string_view style) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tessera-chart\" role=\"img\" "
      "aria-label=\"{}\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\">\n"
      "<title>{}</title>\n<desc>{}</desc>\n{}"
      "<rect class=\"surface\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
      escape_markup(drawing.title), coordinate(drawing.width), coordinate(drawing.height),
      coordinate(drawing.width), coordinate(drawing.height), escape_markup(drawing.title),
      escape_markup(drawing.description),
      style.empty() ? "" : "<style>" + std::string(style) + "</style>\n", drawing.body);
}

// Path data of a marker around (0, 0), about 8 pixels wide.
constexpr std::string_view kMarkerPaths[] = {
    "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",
    "M-3.6 -3.6H3.6V3.6H-3.6Z",
    "M0 -5L5 0L0 5L-5 0Z",
    "M0 -4.8L4.7 3.6H-4.7Z",
    "M0 4.8L4.7 -3.6H-4.7Z",
};

}  // namespace

std::string standalone_svg(const Drawing& drawing) {
  return svg_element(drawing, kChartStyle);
}

std::string inline_svg(const Drawing& drawing) {
  return svg_element(drawing, "");
}

std::string path_point(char command, double x, double y) {
  return command + coordinate(x) + " " + coordinate(y);
}

void SvgWriter::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  body_ += fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", classes,
                       coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2));
}

void SvgWriter::rect(double x, double y, double width, double height, std::string_view classes,
                     std::string_view tip) {
  body_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}", classes,
                       coordinate(x), coordinate(y), coordinate(width), coordinate(height),
                       closing(tip, "rect"));
}

void SvgWriter::filled_rect(double x, double y, double width, double height,
                            std::string_view colour, std::string_view tip) {
  body_ += fmt::format("<rect fill=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}", colour,
                       coordinate(x), coordinate(y), coordinate(width), coordinate(height),
                       closing(tip, "rect"));
}

void SvgWriter::path(std::string_view path, std::string_view classes) {
  body_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", classes, path);
}

void SvgWriter::text(double x, double y, std::string_view text, std::string_view classes,
                     Anchor anchor) {
  constexpr std::string_view kAnchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  body_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\"{}>{}</text>\n", classes, coordinate(x),
                       coordinate(y), kAnchors[static_cast<int>(anchor)], escape_markup(text));
}

void SvgWriter::marker(double x, double y, int shape, std::string_view classes,
                       std::string_view tip) {
  body_ += fmt::format("<path class=\"{}\" transform=\"translate({} {})\" d=\"{}\"{}", classes,
                       coordinate(x), coordinate(y), kMarkerPaths[shape % std::size(kMarkerPaths)],
                       closing(tip, "path"));
}

void SvgWriter::hollow_marker(double x, double y, int shape, std::string_view colour,
                              std::string_view tip) {
  body_ +=
      fmt::format("<path class=\"{} hollow\" transform=\"translate({} {}) scale(1.35)\" d=\"{}\"{}",
                  colour, coordinate(x), coordinate(y),
                  kMarkerPaths[shape % std::size(kMarkerPaths)], closing(tip, "path"));
}

void SvgWriter::moved(double x, double y, std::string_view elements) {
  body_ += fmt::format("<g transform=\"translate({} {})\">\n{}</g>\n", coordinate(x), coordinate(y),
                       elements);
}

void SvgWriter::open_clip(double x, double y, double width, double height) {
  const std::string id = fmt::format("clip-{}-{}-{}-{}", std::lround(x * 100), std::lround(y * 100),
                                     std::lround(width * 100), std::lround(height * 100));
  body_ += fmt::format(
      "<clipPath id=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n"
      "<g clip-path=\"url(#{})\">\n",
      id, coordinate(x), coordinate(y), coordinate(width), coordinate(height), id);
}

void SvgWriter::close_clip() {
  body_ += "</g>\n";
}

}  // namespace tessera
