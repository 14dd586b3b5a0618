#include "lab/task/moons/three_moons.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "lab/task/sequence/draws.h"

namespace tessera::task {
namespace {

constexpr int64_t kWidth = 2 * kMoons;
constexpr double kOffset = 0.3;    // radians, of every moon at time 0
constexpr int64_t kStarts = 8399;  // the authors' 10^4 observations less two sequences and one
constexpr double kTenths = 10;     // in a unit of time

int64_t in_tenths(double period) {
  return std::lround(kTenths * period);
}

MoonPeriods checked_periods(const std::vector<double>& periods) {
  const bool fit = std::all_of(periods.begin(), periods.end(), [](double period) {
    return std::abs(static_cast<double>(in_tenths(period)) - kTenths * period) < 1e-6;
  });
  if (periods.size() != kMoons || !fit)
    throw UsageError("task.periods is [{}], expected three multiples of 0.1",
                     fmt::join(periods, ", "));
  return {periods[0], periods[1], periods[2]};
}

}  // namespace

double common_period(const MoonPeriods& periods) {
  int64_t tenths = 1;
  for (const double period : periods) tenths = std::lcm(tenths, in_tenths(period));
  return static_cast<double>(tenths) / kTenths;
}

const std::vector<MoonPeriods>& moon_periods(MoonSets sets) {
  static const std::vector<MoonPeriods> training = {{0.5, 1, 2},   {0.5, 1, 1.5}, {0.5, 1.5, 3},
                                                    {1, 1.5, 3},   {0.5, 1, 3},   {0.5, 1, 2.5},
                                                    {0.5, 1.5, 2}, {1.5, 2, 3}};
  static const std::vector<MoonPeriods> held_out = {{1, 2, 3}};
  return sets == MoonSets::kTraining ? training : held_out;
}

ThreeMoons::ThreeMoons(const ThreeMoonsConfig& config)
    : ConfiguredTask(config), sets_(moon_periods(config.sets)) {
  if (!config.periods.empty()) sets_ = {checked_periods(config.periods)};
}

TaskShape ThreeMoons::shape() const {
  return {.input_width = kWidth,
          .output_width = kWidth,
          .targets = TargetKind::kVectors,
          .clip = config_.clip};
}

ThreeMoons::System ThreeMoons::draw(uint64_t seed, int64_t index) const {
  RandomStream random = content_stream(seed, index);
  const int64_t set = draw_between(random, 0, std::ssize(sets_) - 1);
  return {sets_[set], draw_between(random, 0, kStarts - 1)};
}

double ThreeMoons::angle(const System& system, size_t moon, int64_t step) const {
  const double time = static_cast<double>(system.start + step) / config_.rate;
  return 2 * std::numbers::pi / system.periods[moon] * time + kOffset;
}

std::vector<float> ThreeMoons::observations(const System& system) const {
  std::vector<float> values;
  for (int64_t step = 0; step <= config_.steps; ++step)
    for (size_t moon = 0; moon < kMoons; ++moon) {
      values.push_back(static_cast<float>(std::sin(angle(system, moon, step))));
      values.push_back(static_cast<float>(std::cos(angle(system, moon, step))));
    }
  return values;
}

TaskSample ThreeMoons::draw_sample(uint64_t seed, int64_t index, int64_t) const {
  const std::vector<float> seen = observations(draw(seed, index));
  TaskSample sample;
  sample.steps = sample.answers = config_.steps;
  sample.inputs.assign(seen.begin(), seen.end() - kWidth);
  sample.vectors.assign(seen.begin() + kWidth, seen.end());
  return sample;
}

config::Json ThreeMoons::describe(uint64_t seed, int64_t index) const {
  const System system = draw(seed, index);
  std::array<double, kMoons> phases;
  for (size_t moon = 0; moon < kMoons; ++moon)
    phases[moon] = std::fmod(angle(system, moon, 0), 2 * std::numbers::pi);
  const std::vector<float> seen = observations(system);
  config::Json rows = config::Json::array();
  for (size_t first = 0; first < seen.size(); first += kWidth)
    rows.push_back(shortest_decimals(std::span(seen).subspan(first, kWidth)));
  return {
      {"index", index},       {"periods", system.periods}, {"lcm", common_period(system.periods)},
      {"rate", config_.rate}, {"phases", phases},          {"observations", rows}};
}

std::vector<Level> ThreeMoons::levels() const {
  // |sin(a + d) - sin(a)| = 2 sin(d / 2) |cos(a + d / 2)|, and the mean of |cos| is 2 / pi.
  constexpr double kMeanCosine = 2 / std::numbers::pi;
  double movement = 0;
  for (const MoonPeriods& periods : sets_)
    for (const double period : periods)
      movement += 2 * std::abs(std::sin(std::numbers::pi / (period * config_.rate))) * kMeanCosine /
                  static_cast<double>(kMoons * std::ssize(sets_));
  return {{"say 0", "mean absolute error", kMeanCosine},
          {"repeat the last observation", "mean absolute error", movement}};
}

}  // namespace tessera::task
