#include "tessera/report/axis.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/report/text.h"

namespace tessera {
namespace {

constexpr double kLargest = 1e300;
constexpr double kSmallest = 1e-300;

double drawable(double value) {
  return std::abs(value) < kSmallest ? 0.0 : value;
}

// The nearest of 1, 2, 5 times a power of ten.
double nice_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  const double factor = step / power;
  return power * (factor < 1.5 ? 1 : factor < 3.5 ? 2 : factor < 7.5 ? 5 : 10);
}

int decimals_of(double step) {
  return std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
}

std::string log_label(double value, bool plain) {
  if (plain) return readable_number(significant_text(value, 7));  // a million without an exponent
  const int exponent = static_cast<int>(std::floor(std::log10(value) + 1e-9));
  const double mantissa = value / std::pow(10.0, exponent);
  const bool is_power = std::abs(mantissa - 1) < 1e-6;
  return is_power ? power_of_ten(exponent)
                  : significant_text(mantissa, 3) + "×" + power_of_ten(exponent);
}

}  // namespace

Ticks linear_ticks(double low, double high, int target) {
  const double step = nice_step((high - low) / std::max(target, 1));
  Ticks result;
  const double largest = std::max(std::abs(low), std::abs(high));
  if (largest >= 1e6 || step < 1e-4)
    result.exponent = static_cast<int>(std::floor(std::log10(largest)));
  const double unit = std::pow(10.0, result.exponent);
  const int decimals = std::min(decimals_of(step / unit), 15);
  const double first = std::ceil(low / step - 1e-9);
  const double last = std::floor(high / step + 1e-9);
  for (double i = first; i <= last && result.ticks.size() < 100; ++i)
    result.ticks.push_back({i * step, readable_number(fixed_text(i * step / unit, decimals))});
  return result;
}

Ticks log_ticks(double low, double high, int target) {
  const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
  const auto inside = [&](double value) {
    return value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9);
  };
  const int powers = last - first + inside(std::pow(10.0, first)) - 1 + (last < first);
  const int least_stride = (powers + target - 1) / std::max(target, 1);
  int stride = 1;
  for (const int nice : {2, 3, 5, 10, 20, 50, 100, 200}) {
    if (stride < least_stride) stride = nice;
  }
  const bool plain = low > 0.9e-4 && high < 1.1e6;
  Ticks result;
  int labelled = 0;
  for (int power = first; power <= last; ++power) {
    for (int factor = 1; factor <= 9; ++factor) {
      const double value = factor * std::pow(10.0, power);
      if (!inside(value) || (factor > 1 && powers > 5)) continue;
      const bool between = powers < 2 && (factor == 2 || factor == 5);
      const bool has_label = (factor == 1 && power % stride == 0) || between;
      if (!has_label && powers > 20) continue;
      labelled += has_label;
      result.ticks.push_back({value, has_label ? log_label(value, plain) : ""});
    }
  }
  const int enough = powers < 2 ? 3 : 2;
  return labelled >= enough ? result : linear_ticks(low, high, target);
}

AxisMap::AxisMap(const Axis& axis, const std::vector<double>& data)
    : label_(axis.label), scale_(axis.scale) {
  for (const auto& bound : {axis.low, axis.high}) {
    check_argument(!bound || can_show(*bound), "Axis: '{}' cannot start or end at {}{}", label_,
                   bound.value_or(0), scale_ == Scale::kLog ? " on a log scale" : "");
  }
  span(data);
  if (axis.low) low_ = drawable(*axis.low);
  if (axis.high) high_ = drawable(*axis.high);
  check_argument(low_ < high_, "Axis: '{}' must end above where it starts, got {} to {}", label_,
                 low_, high_);
}

void AxisMap::span(std::vector<double> data) {
  std::erase_if(data, [&](double value) { return !can_show(value); });
  const bool log = scale_ == Scale::kLog;
  if (data.empty()) {
    low_ = log ? 1 : 0;
    high_ = log ? 10 : 1;
    return;
  }
  const auto [least, most] = std::minmax_element(data.begin(), data.end());
  const double lowest = drawable(*least);
  const double highest = drawable(*most);
  if (log) {
    const double reach = std::log10(highest) - std::log10(lowest);
    const double margin = std::pow(10.0, reach > 0.005 ? 0.04 * reach : 0.5);
    low_ = std::max(lowest / margin, kSmallest);
    high_ = std::min(highest * margin, kLargest);
    return;
  }
  const double largest = std::max(std::abs(lowest), std::abs(highest));
  if (highest - lowest <= 1e-12 * largest) {  // one value, or none but zero
    const double margin = largest == 0 ? 1 : 0.5 * largest;
    low_ = lowest - margin;
    high_ = highest + margin;
    return;
  }
  const double margin = 0.04 * (highest - lowest);
  const double reach = highest - lowest;
  low_ = lowest >= 0 && lowest < 0.25 * reach ? 0 : lowest - margin;
  high_ = highest <= 0 && -highest < 0.25 * reach ? 0 : highest + margin;
}

bool AxisMap::can_show(double value) const {
  if (!(std::abs(value) <= kLargest)) return false;
  return scale_ == Scale::kLinear || value >= kSmallest;
}

void AxisMap::set_pixels(double low_pixel, double high_pixel) {
  low_pixel_ = low_pixel;
  high_pixel_ = high_pixel;
}

double AxisMap::pixel(double value) const {
  const double share = scale_ == Scale::kLog
                           ? (std::log(value) - std::log(low_)) / (std::log(high_) - std::log(low_))
                           : (drawable(value) - low_) / (high_ - low_);
  return low_pixel_ + share * (high_pixel_ - low_pixel_);
}

Ticks AxisMap::ticks(int target) const {
  return scale_ == Scale::kLog ? log_ticks(low_, high_, target) : linear_ticks(low_, high_, target);
}

std::string AxisMap::label(const Ticks& ticks) const {
  if (ticks.exponent == 0) return label_;
  return (label_.empty() ? "" : label_ + " ") + "(×" + power_of_ten(ticks.exponent) + ")";
}

}  // namespace tessera
