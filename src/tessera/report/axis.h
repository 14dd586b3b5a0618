#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tessera {

enum class Scale { kLinear, kLog };

/// What one axis of a chart shows. Without bounds it spans the data.
struct Axis {
  std::string label;
  Scale scale = Scale::kLinear;
  std::optional<double> low = std::nullopt;
  std::optional<double> high = std::nullopt;
};

/// A place on an axis; without a label it only gets a faint grid line.
struct Tick {
  double value;
  std::string label;
};

/// The ticks of an axis. Where `exponent` is not 0, labels are in units of 10^exponent, which the
/// axis' own label then says.
struct Ticks {
  std::vector<Tick> ticks;
  int exponent = 0;
};

/// Multiples of 1, 2 or 5 times a power of ten inside [low, high], about `target` of them.
Ticks linear_ticks(double low, double high, int target);

/// Powers of ten inside [low, high] (both positive); where fewer than three fit, also their
/// multiples by 2 and 5, or else linear ticks. The other multiples come without a label.
Ticks log_ticks(double low, double high, int target);

/// An axis of a drawing: values to pixels. Magnitudes below 1e-300 count as 0 and those above
/// 1e300 cannot be shown.
class AxisMap {
 public:
  /// Spans the values of `data` that can be shown, with a margin (linear axes whose data come near
  /// zero start at zero); [0, 1], or [1, 10] for a log axis, where there are none.
  /// Throws UsageError for bounds that are not finite, not ordered, or not positive on a
  /// log axis.
  AxisMap(const Axis& axis, const std::vector<double>& data);

  /// Whether the value is finite and, on a log axis, positive.
  bool can_show(double value) const;
  /// Sets where the two ends lie.
  void set_pixels(double low_pixel, double high_pixel);
  /// The pixel of a value; values outside the span lie outside the two ends.
  double pixel(double value) const;
  Ticks ticks(int target) const;
  double low() const { return low_; }
  double high() const { return high_; }
  Scale scale() const { return scale_; }
  /// The axis' label with the unit its ticks are in: "tokens (×10⁶)".
  std::string label(const Ticks& ticks) const;

 private:
  void span(std::vector<double> data);

  std::string label_;
  Scale scale_;
  double low_ = 0;
  double high_ = 1;
  double low_pixel_ = 0;
  double high_pixel_ = 1;
};

}  // namespace tessera
