#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// The shortest decimal text that reads back as exactly `value`; "nan", "inf" or "-inf" otherwise.
std::string exact_text(double value);

/// `value` with `decimals` digits after the point, never "-0.00".
std::string fixed_text(double value, int decimals);

/// `value` rounded to `digits` significant digits, as short as possible: 0.0203, 1.5e-07, 12. An
/// exponent from a million on: 1440, 1.44e+06.
std::string significant_text(double value, int digits);

/// A power of ten with a superscript exponent: 10⁻⁵.
std::string power_of_ten(int exponent);

/// A number's digits as print has them: a minus sign instead of the hyphen, narrow spaces between
/// thousands from 10 000 on, and 1.5×10⁻⁷ for 1.5e-07. Other text, such as "inf", stays as it is.
std::string readable_number(std::string_view digits);

/// `text` made safe between tags and inside quoted attributes of HTML, SVG and XML: the five
/// special characters become entities; bytes that are not UTF-8 and control characters other than
/// tab and line ends become U+FFFD.
std::string escape_markup(std::string_view text);

/// `text` with whatever is not valid UTF-8, whatever XML does not allow, and every control
/// character other than tab and line ends, replaced by U+FFFD, each byte by one.
std::string printable_text(std::string_view text);

/// Of text in pictures, pixels.
constexpr double kFontSize = 12;

/// Estimated width in pixels of one line of sans-serif text.
double text_width(std::string_view text, double font_size = kFontSize);
/// That of the widest of these lines; 0 where there is none.
double widest_text(const std::vector<std::string>& lines);

/// The words of `text` on lines at most `width` pixels wide (one word is never broken).
std::vector<std::string> wrap_text(std::string_view text, double width,
                                   double font_size = kFontSize);

/// `text`, cut and ended with an ellipsis where it is wider than `width` pixels.
std::string shorten_text(std::string_view text, double width);

}  // namespace tessera
