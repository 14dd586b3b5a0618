#include "lab/study/study_cost.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace tessera {
namespace {

constexpr bool kEstimated = true, kMeasured = false;

const std::map<std::string_view, StudyCost>& costs() {
  static const std::map<std::string_view, StudyCost> all = {
      {"memory-mosaics/language-model", {60, 900, kEstimated, kMeasured}},
      {"memory-mosaics/depth", {30, 1535, kMeasured, kMeasured}},
      {"memory-mosaics/small-budget", {60, 2170, kEstimated, kMeasured}},
      {"memory-mosaics/out-of-distribution", {18, 90, kMeasured, kEstimated}},
      {"memory-mosaics/attention", {21, 630, kMeasured, kMeasured}},
      {"memory-mosaics/three-moons", {127, 950, kMeasured, kMeasured}},
      {"memory-mosaics/stories", {20, 120, kEstimated}},
      {"memory-mosaics/prompts", {84, 990, kMeasured, kMeasured}},
      {"memory-mosaics/regbench", {216, 2330, kMeasured, kMeasured}},
      {"memo/single-layer", {10, 300, kEstimated}},
      {"memo/multi-layer", {5, 600, kEstimated}},
      {"memo/nearly-orthogonal", {1, 60}},
      {"memo/natural-text", {20, 300, kEstimated}},
      {"memo/forget", {5, 60, kEstimated}},
      {"stm/associative-retrieval", {34, 1800}},
      {"stm/nth-farthest", {75, 660, kMeasured, kMeasured}},
      {"stm/copy", {75, 1900, kMeasured, kEstimated}},
      {"stm/priority-sort", {61, 1325, kMeasured, kMeasured}},
      {"stm/relational-recall", {80, 1700, kMeasured, kEstimated}},
      {"stm/convex-hull", {26, 2200, kMeasured, kEstimated}},
      {"stm/travelling-salesman", {25, 1400, kMeasured, kEstimated}},
      {"stm/shortest-path", {130, 2400, kMeasured, kEstimated}},
      {"stm/spanning-tree", {178, 2400, kMeasured, kEstimated}},
      {"stm/babi", {69, 274, kMeasured, kMeasured}},
      {"stm/pong", {175, 1906, kMeasured, kMeasured}},
      {"stm/cost", {20, 120, kEstimated}},
      {"stm/rank", {20, 74, kEstimated, kMeasured}},
      {"scaling-laws/fig1", {1, 5}},
      {"scaling-laws/fig2", {1, 1}},
      {"scaling-laws/fig3", {1, 6}},
      {"scaling-laws/fig4", {1, 8, kMeasured, kEstimated}},
      {"scaling-laws/fig5", {1, 1}},
      {"scaling-laws/fig6", {1, 1}},
      {"scaling-laws/fig7", {1, 3}},
      {"scaling-laws/fig8", {1, 20}},
      {"scaling-laws/fig9", {2, 15}},
      {"scaling-laws/fig10", {1, 5}},
      {"scaling-laws/fig11", {1, 1}},
      {"scaling-laws/fig12", {1, 10}},
      {"scaling-laws/fig13", {1, 3}},
      {"scaling-laws/fig14", {1, 1}},
      {"scaling-laws/fig15", {1, 3}},
      {"scaling-laws/fig16", {1, 1}},
      {"scaling-laws/table1", {1, 1}},
      {"scaling-laws/theorem1", {1, 2}},
      {"scaling-laws/theorem2", {5, 5}},
      {"scaling-laws/proposition2", {12, 97}},
      {"scaling-laws/proposition3", {28, 44}},
      {"scaling-laws/proposition4", {3, 13}},
      {"scaling-laws/proposition5", {9, 49}},
      {"scaling-laws/lemma1", {1, 8}},
      {"scaling-laws/equation3", {2, 14}},
      {"scaling-laws/equation23", {1, 2}},
      {"scaling-laws/equation26", {1, 2}},
      {"scaling-laws/compensation", {1, 10}},
      {"scaling-laws/adaptive-step", {2, 10}},
      {"scaling-laws/planner", {5, 35, kEstimated}},
      {"scaling-laws/error-per-item", {6, 64, kMeasured, kMeasured}},
      {"scaling-laws/decoders", {2, 2}},
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
