#pragma once

#include <string>

namespace tessera {

/// The shortest decimal text that reads back as exactly `value`; "nan", "inf" or "-inf" otherwise.
std::string exact_text(double value);

/// `value` with `decimals` digits after the point, never "-0.00".
std::string fixed_text(double value, int decimals);

/// `value` rounded to `digits` significant digits, as short as possible: 0.0203, 1.5e-07, 12.
std::string significant_text(double value, int digits);

/// A power of ten with a superscript exponent: 10⁻⁵.
std::string power_of_ten(int exponent);

}  // namespace tessera
