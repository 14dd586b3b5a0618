// Appendix A: how many nearly orthogonal vectors a space hosts by the paper's bounds, and how many
// random ones can be drawn before two of them come too close.

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lab/study/memo/studies.h"
#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/model/initialisation.h"

namespace tessera::memo_study {
namespace {

struct NearlyOrthogonalSettings {
  std::vector<int64_t> dimensions = {64, 128, 256, 512, 1024, 2048};
  std::vector<double> closeness = {0.1, 0.15, 0.2, 0.3};
  int64_t most = 8192;
  int64_t runs = 100;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("dimensions", dimensions, "widths of the vectors, d", config::at_least(4));
    field("closeness", closeness, "epsilon: products up to it count as nearly orthogonal",
          config::inner_share());
    field("most", most, "maximum number of vectors drawn", config::at_least(2));
    field("runs", runs, "sets drawn, one where none is expected to end; their median is shown",
          config::at_least(1));
  }
};

/// ln m of the bound as printed: m <= exp(8 (epsilon^2 - 4/3 epsilon^3) d).
double printed_bound(double epsilon, double d) {
  return 8 * (epsilon * epsilon - 4 * epsilon * epsilon * epsilon / 3) * d;
}

/// ln m of the bound that corollary .3 proves: d >= 4 (e^2/2 - e^3/3)^-1 ln m with epsilon = 2 e.
double proved_bound(double epsilon, double d) {
  const double e = epsilon / 2;
  return (e * e / 2 - e * e * e / 3) * d / 4;
}

/// P(|a . b| > epsilon) of random unit vectors of d >= 3 numbers: the product's density is
/// proportional to (1 - t^2)^((d - 3) / 2). Relative to the density at epsilon, by Simpson's rule.
double chance_of_closeness(double epsilon, int64_t dimension) {
  constexpr int kSteps = 4000;
  const double d = dimension;
  const double exponent = (d - 3) / 2, step = (1 - epsilon) / kSteps;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {  // the density is 0 at t = 1
    const double t = epsilon + i * step;
    const double weight = i == 0 ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * std::exp(exponent * (std::log1p(-t * t) - std::log1p(-epsilon * epsilon)));
  }
  const double log_area = std::log(std::numbers::pi) / 2 + std::lgamma((d - 1) / 2) -
                          std::lgamma(d / 2);  // of (1 - t^2)^((d - 3) / 2) over [-1, 1]
  return 2 * sum * step / 3 * std::exp(exponent * std::log1p(-epsilon * epsilon) - log_area);
}

/// Random unit vectors drawn one after the other until one comes closer than epsilon to another
/// before it; `most` where none did.
int64_t drawn_until_close(double epsilon, int64_t d, int64_t most, uint64_t seed) {
  constexpr int64_t kChunk = 256;
  Initialiser random(seed);
  const at::Tensor vectors = at::empty({most, d});
  for (int64_t begin = 0; begin < most; begin += kChunk) {
    const int64_t end = std::min(most, begin + kChunk);
    const at::Tensor rows = vectors.slice(0, begin, end);
    random.normal(rows, 1);
    rows.div_(rows.norm(2, 1, /*keepdim=*/true));
    const at::Tensor products = at::matmul(rows, vectors.slice(0, 0, end).t());  // [chunk, end]
    const at::Tensor close =
        (products.tril(begin - 1).abs() > epsilon).any(1);  // with earlier ones
    if (close.any().item<bool>()) return begin + close.to(at::kInt).argmax().item<int64_t>();
  }
  return most;
}

/// How many vectors the sets have, and its standard error, 0.93 of the quartiles' distance over the
/// square root of the number of sets, as of normal numbers.
struct MedianDrawn {
  double vectors = 0, standard_error = 0;
};

MedianDrawn median_drawn(double epsilon, int64_t d, int64_t most, int64_t runs, uint64_t seed) {
  std::vector<int64_t> counts;
  for (int64_t run = 0; run < runs; ++run)
    counts.push_back(drawn_until_close(epsilon, d, most, *derived_seed(seed, run)));
  std::sort(counts.begin(), counts.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(runs - 1);
    const auto below = static_cast<size_t>(place), above = static_cast<size_t>(std::ceil(place));
    return std::lerp(static_cast<double>(counts[below]), static_cast<double>(counts[above]),
                     place - std::floor(place));
  };
  const double above = at(0.75);
  if (above >= static_cast<double>(most)) return {at(0.5), ResultPoint::kNone};  // cut
  return {at(0.5), 0.93 * (above - at(0.25)) / std::sqrt(static_cast<double>(runs))};
}

/// At one epsilon: rows of the table, and in the chart how many are drawn and the law of it.
void count_vectors(StudyContext& context, const NearlyOrthogonalSettings& settings, double epsilon,
                   Table& table, LineChart& chart, Progress& progress) {
  const double most = settings.most;
  Series drawn{fmt::format("ε = {}", epsilon), {}};
  Series law{"law, " + drawn.name, {}, SeriesStyle::kReference, drawn.name};
  for (const int64_t dimension : settings.dimensions) {
    const double d = dimension;
    // Among m vectors none of the m^2 / 2 pairs is too close with a chance of exp(-p m^2 / 2).
    const double expected =
        std::sqrt(2 * std::numbers::ln2 / chance_of_closeness(epsilon, dimension));
    const int64_t runs = expected < 10 * most ? settings.runs : 1;
    const auto numbers = context.part(fmt::format("{}, d = {}", drawn.name, dimension), 2, [&] {
      const auto [count, error] =
          median_drawn(epsilon, dimension, settings.most, runs, context.seed());
      return std::vector{count, error};
    });
    const double count = numbers[0], error = runs > 1 ? numbers[1] : ResultPoint::kNone;
    const bool is_known = count < most;
    table.add_row(
        {epsilon, dimension, Cell::fixed(printed_bound(epsilon, d) / std::numbers::ln10, 1),
         Cell::significant(std::exp(proved_bound(epsilon, d)), 3), Cell::significant(expected, 3),
         is_known ? Cell(count) : Cell(fmt::format("{} or more", settings.most)),
         is_known ? fixed_or_empty(error, 1) : Cell(), runs});
    if (expected < 10 * most) law.points.push_back({d, expected});
    if (is_known) {
      drawn.points.push_back({d, count, runs > 1 ? error : 0});
      context.results().add_point(
          {.series = drawn.name, .x = d, .y = count, .standard_error = error});
    }
    progress.advance();
  }
  chart.add(std::move(drawn));
  chart.add(std::move(law));
}

}  // namespace

void nearly_orthogonal(StudyContext& context) {
  const NearlyOrthogonalSettings quick{.dimensions = {64, 256}, .most = 1024};
  const NearlyOrthogonalSettings settings =
      context.settings(quick, NearlyOrthogonalSettings(), kNoSetting);
  check_list("dimensions", settings.dimensions);
  check_list("closeness", settings.closeness);
  Table table(
      "Vectors of which no two come closer than ε",
      {"ε", "d", "log₁₀ m, bound as printed", "m, bound as proved", "m, random: law of the median",
       "m, random: median drawn", "standard error", "sets"});
  auto chart = std::make_unique<LineChart>(
      "Nearly orthogonal vectors", Axis{"dimension d", Scale::kLog}, Axis{"vectors", Scale::kLog});
  const size_t sets = settings.closeness.size() * settings.dimensions.size();
  Progress progress(context.progress(), "Nearly orthogonal", sets);
  for (const double epsilon : settings.closeness)
    count_vectors(context, settings, epsilon, table, *chart, progress);
  context.results().add_table("bounds", std::move(table));
  context.results().add_chart(
      "vectors", std::move(chart),
      "Random unit vectors drawn before two of them have a product beyond ε (eq. 5): their number "
      "grows exponentially with d, as appendix A says. Medians, with one standard error; dashed: "
      "√(2 ln 2 / p), where p is the chance that two of them come too close. Among so many vectors "
      "two do with a chance of one half.");
  context.results().add_difference(
      "The bound that the appendix prints, m ≤ exp(8 (ε² - 4/3 ε³) d), does not follow from its "
      "corollary, which gives m ≤ exp((ε²/32 - ε³/96) d): it multiplies by 4 where it should "
      "divide, and doubles ε where it should halve it.");
}

}  // namespace tessera::memo_study
