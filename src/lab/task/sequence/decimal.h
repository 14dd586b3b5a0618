#pragma once

#include <array>
#include <charconv>
#include <span>
#include <vector>

namespace tessera::task {

/// The number of fewest decimals that reads back as this float: 0.1F is 0.1, not
/// 0.10000000149011612. For data files.
inline double shortest_decimal(float number) {
  std::array<char, 32> text;
  const auto written = std::to_chars(text.data(), text.data() + text.size(), number);
  double decimal = 0;
  std::from_chars(text.data(), written.ptr, decimal);
  return decimal;
}

inline std::vector<double> shortest_decimals(std::span<const float> numbers) {
  std::vector<double> decimals;
  for (float number : numbers) decimals.push_back(shortest_decimal(number));
  return decimals;
}

}  // namespace tessera::task
