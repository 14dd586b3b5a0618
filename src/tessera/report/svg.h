#pragma once

#include <string>
#include <string_view>

namespace tessera {

/// A finished picture: its size in pixels, what it is called, what it shows in words, and its SVG
/// elements.
struct Drawing {
  double width = 0;
  double height = 0;
  std::string title;
  std::string description;
  std::string body;
};

/// One SVG document with its own colours for light and dark surroundings: a file of its own.
std::string standalone_svg(const Drawing& drawing);
/// The same <svg> element for a page that holds kChartStyle.
std::string inline_svg(const Drawing& drawing);

/// The colours of every chart as CSS, for a light and a dark surrounding. Classes: s0…s7 a series'
/// colour; fill, line, hollow, band, hover how it is used; ink, muted, grid, axis the rest.
extern const std::string_view kChartStyle;
/// Number of series colours.
inline constexpr int kSeriesColours = 8;

enum class Anchor { kStart, kMiddle, kEnd };

/// Writes SVG elements. Classes are those of kChartStyle; all text is escaped; coordinates are
/// rounded to a hundredth of a pixel.
class SvgWriter {
 public:
  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  void rect(double x, double y, double width, double height, std::string_view classes,
            std::string_view tip = "");
  /// A rectangle filled with this colour (#rrggbb).
  void filled_rect(double x, double y, double width, double height, std::string_view colour,
                   std::string_view tip);
  /// path: SVG path data built with path_point().
  void path(std::string_view path, std::string_view classes);
  void text(double x, double y, std::string_view text, std::string_view classes,
            Anchor anchor = Anchor::kStart);
  /// The mark of a series: shape 0 circle, 1 square, 2 diamond, 3 triangle, and so on in turn.
  void marker(double x, double y, int shape, std::string_view classes, std::string_view tip = "");
  /// The same as an outline in the series' colour, so much larger that the mark itself can be seen
  /// in its middle.
  void hollow_marker(double x, double y, int shape, std::string_view colour,
                     std::string_view tip = "");
  /// Elements of another drawing, moved by (x, y).
  void moved(double x, double y, std::string_view elements);
  /// Everything until close_clip() is cut off at this rectangle. Its id is unique for its size and
  /// place, so that several pictures can share one page.
  void open_clip(double x, double y, double width, double height);
  void close_clip();

  std::string take_body() { return std::move(body_); }

 private:
  std::string body_;
};

/// "M12.5 3" or "L12.5 3".
std::string path_point(char command, double x, double y);

}  // namespace tessera
