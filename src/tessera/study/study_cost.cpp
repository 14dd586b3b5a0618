#include "tessera/study/study_cost.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace tessera {
namespace {

constexpr bool kEstimated = true, kMeasured = false;

const std::map<std::string_view, StudyCost>& costs() {
  static const std::map<std::string_view, StudyCost> all = {
      {"memory-mosaics/language-model", {60, 900, kEstimated, kMeasured}},
      {"memory-mosaics/depth", {300, 1535, kEstimated, kMeasured}},
      {"memory-mosaics/small-budget", {300, 5400, kEstimated}},
      {"memory-mosaics/out-of-distribution", {180, 3600, kEstimated}},
      {"memory-mosaics/attention", {180, 3600, kEstimated}},
      {"memory-mosaics/three-moons", {120, 1200, kEstimated}},
      {"memory-mosaics/stories", {20, 120, kEstimated}},
      {"memory-mosaics/prompts", {1200, 10800, kEstimated}},
      {"memory-mosaics/regbench", {600, 3600, kEstimated}},
      {"memo/single-layer", {10, 300, kEstimated}},
      {"memo/multi-layer", {5, 600, kEstimated}},
      {"memo/nearly-orthogonal", {3, 60, kEstimated}},
      {"memo/natural-text", {20, 300, kEstimated}},
      {"memo/forget", {5, 60, kEstimated}},
      {"stm/associative-retrieval", {34, 1800}},
      {"stm/nth-farthest", {100, 7200}},
      {"stm/copy", {75, 3600}},
      {"stm/priority-sort", {61, 3600}},
      {"stm/relational-recall", {80, 3600}},
      {"stm/convex-hull", {26, 3600}},
      {"stm/travelling-salesman", {25, 3600}},
      {"stm/shortest-path", {531, 10800}},
      {"stm/spanning-tree", {178, 7200}},
      {"stm/babi", {69, 2700}},
      {"stm/pong", {175, 7200}},
      {"stm/cost", {20, 120, kEstimated}},
      {"stm/rank", {20, 74, kEstimated, kMeasured}},
      {"scaling-laws/fig1", {2, 15, kEstimated}},
      {"scaling-laws/fig2", {1, 1, kEstimated}},
      {"scaling-laws/fig3", {3, 20, kEstimated}},
      {"scaling-laws/fig4", {1, 3, kEstimated}},
      {"scaling-laws/fig5", {1, 1, kEstimated}},
      {"scaling-laws/fig6", {1, 1, kEstimated}},
      {"scaling-laws/fig7", {1, 5, kEstimated}},
      {"scaling-laws/fig8", {30, 120, kEstimated}},
      {"scaling-laws/fig9", {30, 60, kEstimated}},
      {"scaling-laws/fig10", {2, 15, kEstimated}},
      {"scaling-laws/fig11", {1, 1, kEstimated}},
      {"scaling-laws/fig12", {20, 60, kEstimated}},
      {"scaling-laws/fig13", {1, 5, kEstimated}},
      {"scaling-laws/fig14", {1, 1, kEstimated}},
      {"scaling-laws/fig15", {1, 5, kEstimated}},
      {"scaling-laws/fig16", {1, 1, kEstimated}},
      {"scaling-laws/table1", {3, 3, kEstimated}},
      {"scaling-laws/adaptive-step", {10, 60, kEstimated}},
      {"scaling-laws/planner", {10, 60, kEstimated}},
      {"scaling-laws/error-per-item", {20, 300, kEstimated}},
      {"scaling-laws/decoders", {20, 20, kEstimated}},
  };
  return all;
}

/// To two digits.
double rounded(double value) {
  if (value < 10) return std::ceil(value);
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return std::round(value / unit) * unit;
}

}  // namespace

std::optional<StudyCost> cost_of(std::string_view id) {
  const auto place = costs().find(id);
  if (place == costs().end()) return {};
  return place->second;
}

std::string cost_text(double seconds, bool estimated) {
  const bool minutes = seconds >= 100, hours = seconds >= 6000;
  const double value = rounded(seconds / (hours ? 3600 : minutes ? 60 : 1));
  return fmt::format("{}{:g} {}", estimated ? "about " : "", value,
                     hours     ? "h"
                     : minutes ? "min"
                               : "s");
}

}  // namespace tessera
