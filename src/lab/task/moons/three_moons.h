#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

constexpr int64_t kMoons = 3;
using MoonPeriods = std::array<double, kMoons>;  ///< in units of time

/// The least time after which all three moons stand as before. Periods are multiples of 0.1.
double common_period(const MoonPeriods& periods);

/// Which sets of periods sequences are drawn from.
enum class MoonSets { kTraining, kHeldOut };
constexpr std::array<std::string_view, 2> enum_names(MoonSets) {
  return {"training", "held-out"};
}

/// The 9 of the 35 sets of three different periods out of 0.5, 1, …, 3.5 with the least common
/// periods: 8 to train on, the last one held out.
/// Differs from the authors' code: they sort the 35 sets with numpy's unstable sort, which decides
/// between (0.5, 2, 3), (1, 2, 3), … of the common period 6; these are the sets that it gives.
const std::vector<MoonPeriods>& moon_periods(MoonSets sets);

struct ThreeMoonsConfig {
  int64_t steps = 800;
  double rate = 800.0 / 18;
  MoonSets sets = MoonSets::kTraining;
  std::vector<double> periods = {};
  double clip = 0.5;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("steps", steps, "observations in a sequence", config::between(1, 65536));
    field(
        "rate", rate,
        "observations in a unit of time (800 / 18: the slowest sets of periods repeat three times "
        "in 800 steps)",
        config::at_least(1e-6));  // below it the moons' angles are not exact
    field("sets", sets, "the sets of periods that sequences are drawn from");
    field("periods", periods, "three periods for all sequences instead, multiples of 0.1",
          config::between(0.1, 1000));
    field("clip", clip, "an error of this size or more counts as this much in the loss",
          config::above(0));
  }
};

/// Tracking three moons (Zhang et al. 2024, section 5): from the moons' places so far, predict the
/// next ones. An observation is (sin, cos) of the angles of the three moons, which move evenly:
///     angle = 2 pi / period * time + 0.3.
/// A sequence takes one of the sets of periods and a start, both uniform. Every step answers with
/// the next observation; the loss is the mean of the squared errors clipped to ±clip.
class ThreeMoons : public ConfiguredTask<ThreeMoonsConfig> {
 public:
  /// Throws UsageError on values out of bounds, a clip of 0, and periods that are not three
  /// multiples of 0.1.
  explicit ThreeMoons(const ThreeMoonsConfig& config);

  TaskShape shape() const override;
  TaskSample draw_sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  /// Periods, common period (lcm), observations per unit of time, the moons' angles at the first
  /// observation (phases, radians in [0, 2 pi)), and steps + 1 observations.
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Saying 0, and repeating the last observation.
  std::vector<Level> levels() const override;

 private:
  /// What a sequence is.
  struct System {
    MoonPeriods periods;
    int64_t start;  ///< the first observation, in steps from time 0
  };
  System draw(uint64_t seed, int64_t index) const;
  double angle(const System& system, size_t moon, int64_t step) const;
  /// steps + 1 observations, one after the other.
  std::vector<float> observations(const System& system) const;

  std::vector<MoonPeriods> sets_;
};

}  // namespace tessera::task
