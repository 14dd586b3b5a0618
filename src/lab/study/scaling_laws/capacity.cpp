// Figure 2, the planner beside simulation, and the likelihood-ratio decoder.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lab/study/scaling_laws/studies.h"
#include "lab/theory/likelihood_ratio.h"
#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/base/random.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/blas.h"
#include "tessera/plan/gaussian_field.h"
#include "tessera/plan/parallel.h"
#include "tessera/plan/planner.h"
#include "tessera/plan/population_error.h"
#include "tessera/report/line_chart.h"

namespace tessera::scaling_laws {
namespace {

using namespace theory;

/// How often the error of a stored association is simulated.
struct ItemSettings {
  int64_t runs = 1000;
  int64_t most_runs = 100000;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("runs", runs, "minimum number of runs, and runs between two looks at the standard error",
          config::at_least(2));
    field("most_runs", most_runs, "maximum number of runs");
  }
};

/// Three associations in the plane: unit vectors e_x and u_x at these angles, in degrees.
struct PlaneMemory {
  double input_angle[3], output_angle[3];

  static double cosine(double a, double b) { return std::cos((a - b) * std::numbers::pi / 180); }
  /// u_y^T W e_x with W the sum of u_z e_z^T.
  double score(int x, int y) const {
    double total = 0;
    for (int z = 0; z < 3; ++z)
      total += cosine(output_angle[y], output_angle[z]) * cosine(input_angle[z], input_angle[x]);
    return total;
  }
};

constexpr PlaneMemory kPlane = {{20, 60, 75}, {-10, 55, 80}};

/// Figure 2: the vectors, and W e_1 that comes to lie nearer to another output than to its own.
class InterferenceDrawing : public Chart {
 public:
  InterferenceDrawing() : Chart("How three associations interfere") {}

  Drawing draw(ChartWidth width) const override {
    const double size = width == ChartWidth::kWide ? 720 : 360, radius = size / 5;
    SvgWriter svg;
    svg.text(size / 2, 24, title(), "title", Anchor::kMiddle);
    const double centre_y = 50 + 1.2 * radius;
    fan(svg, "e", kPlane.input_angle, size * 0.25, centre_y, radius);
    fan(svg, "u", kPlane.output_angle, size * 0.72, centre_y, radius);
    double x = 0, y = 0;  // W e_1 = sum of u_z <e_z, e_1>
    for (int z = 0; z < 3; ++z) {
      const double share = PlaneMemory::cosine(kPlane.input_angle[z], kPlane.input_angle[0]);
      x += share * std::cos(kPlane.output_angle[z] * std::numbers::pi / 180);
      y += share * std::sin(kPlane.output_angle[z] * std::numbers::pi / 180);
    }
    const double length = std::hypot(x, y) / 1.2;
    arrow(svg, "W e₁", size * 0.72, centre_y, radius * x / length, radius * y / length, "line s3");
    const double height = centre_y + 0.3 * radius + 62;
    svg.text(size / 2, height - 30,
             fmt::format("u₂ᵀ W e₁ = {:.2f} exceeds u₁ᵀ W e₁ = {:.2f},", kPlane.score(0, 1),
                         kPlane.score(0, 0)),
             "muted", Anchor::kMiddle);
    svg.text(size / 2, height - 12, "so x = 1 is read as y = 2", "muted", Anchor::kMiddle);
    return {size, height, title(),
            "Three unit inputs and three unit outputs in the plane; the memory's answer to the "
            "first input lies nearer to the second output than to the first.",
            svg.take_body()};
  }

  Table numbers() const override {
    Table table("Scores u_y W e_x; the largest of a row is the answer",
                {"input", "y = 1", "y = 2", "y = 3"});
    for (int x = 0; x < 3; ++x)
      table.add_row({x + 1, Cell::fixed(kPlane.score(x, 0), 3), Cell::fixed(kPlane.score(x, 1), 3),
                     Cell::fixed(kPlane.score(x, 2), 3)});
    return table;
  }

 private:
  static void arrow(SvgWriter& svg, const std::string& name, double x, double y, double dx,
                    double dy, const std::string& classes) {
    svg.line(x, y, x + dx, y - dy, classes);
    svg.marker(x + dx, y - dy, 0, "fill" + classes.substr(4));
    svg.text(x + 1.12 * dx, y - 1.12 * dy, name, "ink", Anchor::kMiddle);
  }
  static void fan(SvgWriter& svg, const std::string& letter, const double (&angles)[3], double x,
                  double y, double radius) {
    const char* subscripts[] = {"₁", "₂", "₃"};
    for (int z = 0; z < 3; ++z) {
      const double angle = angles[z] * std::numbers::pi / 180;
      arrow(svg, letter + subscripts[z], x, y, radius * std::cos(angle), radius * std::sin(angle),
            fmt::format("line s{}", z));
    }
  }
};

}  // namespace

void interference_drawing(StudyContext& context) {
  auto drawing = std::make_unique<InterferenceDrawing>();
  context.results().add_table("scores", drawing->numbers());
  context.results().add_chart(
      "interference", std::move(drawing),
      "Three unit inputs e and outputs u stacked in W = Σ u_f(x) e_xᵀ (eq. 4). Since e₂ and e₃ lie "
      "close to e₁, W e₁ holds a part of u₂ and of u₃, and comes to lie nearer to u₂ than to u₁: "
      "the first input is decoded (eq. 2) as the second output. A memory of finite capacity errs "
      "on what it has stored.");
  for (int x = 0; x < 3; ++x)
    for (int y = 0; y < 3; ++y)
      context.results().add_point(
          {fmt::format("x = {}", x + 1), static_cast<double>(y + 1), kPlane.score(x, y)});
}

namespace {

/// A mean that is measured by itself, as a part of the study that is kept.
Spread measured_once(StudyContext& context, const std::string& part,
                     const std::function<Spread()>& measure) {
  const auto kept = context.part(part, 3, [&] {
    const Spread spread = measure();
    return std::vector<double>{spread.mean, spread.deviation, static_cast<double>(spread.runs)};
  });
  return {kept[0], kept[1], static_cast<int64_t>(kept[2])};
}

/// Errors over what was allowed, plan by plan.
std::unique_ptr<LineChart> plan_chart(const std::vector<ChartPoint>& predicted,
                                      const std::vector<ChartPoint>& simulated) {
  auto chart = std::make_unique<LineChart>("Planned memories", Axis{"plan (line of the table)"},
                                           Axis{"error / allowed error", Scale::kLinear, 0});
  chart->add({"predicted", predicted, SeriesStyle::kPoints});
  chart->add({"simulated", simulated, SeriesStyle::kPoints});
  chart->add(
      {"allowed", {{1, 1}, {static_cast<double>(predicted.size()), 1}}, SeriesStyle::kReference});
  return chart;
}

/// What memories are planned for.
struct PlanCase {
  double alpha;
  int64_t inputs;
  int32_t outputs;
  double error;  ///< allowed
};

std::vector<PlanCase> plan_cases(int64_t N) {
  return {{2, N, 5, .05},    {2, N, 5, .02},        {2, 10 * N, 5, .01}, {2, N, 50, .02},
          {2, N, 1000, .02}, {1.5, N, 5, .1},       {1.5, N, 5, .02},    {1.5, N, 5, .005},
          {1.2, N, 10, .1},  {1.5, 10 * N, 20, .1}, {3, N, 5, .01},      {1, N, 5, .1}};
}

}  // namespace

void planner_check(StudyContext& context) {
  const Settings settings = settings_of(
      context, {.runs = 200, .inputs = 1000, .unused = {"outputs", "alpha"}},  // each case its own
      kNoSetting);
  const auto cases = plan_cases(settings.inputs);
  Table table("Planned for an allowed error, then simulated",
              {"alpha", "N", "M", "allowed", "T", "d", "P", "predicted", "simulated",
               "standard error", "predicted / simulated"});
  std::vector<ChartPoint> predicted, of_simulation;
  Progress progress(context.progress(), "Planner", std::ssize(cases));
  int64_t done = 0;
  for (const PlanCase& c : cases) {
    const MemoryPlan plan = plan_memory(RankedLaw::zipf(c.inputs, c.alpha), c.outputs, c.error);
    const Spread simulated = measured_once(context, fmt::format("plan {}", done), [&] {
      return simulate_plan(zipf_task(c.inputs, c.outputs, c.alpha), plan, settings.runs,
                           context.seed());
    });
    table.add_row({c.alpha, c.inputs, c.outputs, c.error, static_cast<int64_t>(plan.samples),
                   plan.dimension, plan.stored, Cell::significant(plan.error, 3),
                   mean_cell(simulated), error_cell(simulated),
                   simulated.mean > 0 ? Cell::fixed(plan.error / simulated.mean, 2) : Cell()});
    progress.update(++done);
    const double line = done;
    context.results().add_point({"predicted", line, plan.error});
    context.results().add_point(point_of("simulated", line, simulated));
    predicted.push_back({line, plan.error / c.error});
    of_simulation.push_back({line, simulated.mean / c.error, error_of(simulated) / c.error});
  }
  context.results().add_table("plans", std::move(table));
  context.results().add_chart(
      "errors", plan_chart(predicted, of_simulation),
      "The smallest T, and for it the smallest d with its best P, whose predicted error (eq. 5, by "
      "quadrature over the scores of eqs. 30-33) is what is allowed, and the error of simulated "
      "memories with one standard error.");
  context.results().add_difference(
      "The error of a simulated run is averaged over which of the inputs stored alike has which "
      "embedding: the same mean, without the rare runs that misread one of the most frequent "
      "inputs and have most of the error. Where a stored input is hardly ever misread (α = 3) few "
      "runs still hold too few of those errors: their mean is low, and so is its standard error.");
}

namespace {

/// P associations of equal weight and probability, of M outputs in turn.
struct StoredItems {
  int32_t outputs;
  int64_t dimension, stored;
};

constexpr StoredItems kStoredItems[] = {
    {2, 20, 10},    {2, 50, 40},   {3, 10, 4},    {5, 10, 3},     {5, 20, 8},
    {5, 50, 12},    {5, 100, 300}, {5, 200, 60},  {10, 30, 15},   {10, 100, 60},
    {10, 500, 269}, {20, 20, 6},   {20, 50, 40},  {50, 18, 5},    {50, 100, 150},
    {100, 20, 12},  {100, 50, 44}, {100, 50, 92}, {200, 64, 150}, {300, 30, 300}};

/// Runs of it until the standard error is below 0.8 % of the mean, 1000 or more.
Spread simulated_item_error(const StoredItems& c, int64_t fewest, int64_t most, uint64_t seed) {
  const size_t P = c.stored;
  const AssociationTask task = counted_task(std::vector<double>(P, 1.0), c.outputs);
  const std::vector<SimulatedMemory> memory = {{std::vector<float>(P, 1.0f), {c.dimension}}};
  std::vector<double> errors;
  Spread spread;
  do {
    const auto done = std::ssize(errors);
    const auto more = parallel_runs(std::min(fewest, most - done), [&](int64_t run) {
      return population_errors(task, memory, run_seed(seed, done + run))[0][0];
    });
    errors.insert(errors.end(), more.begin(), more.end());
    spread = spread_of(errors);
  } while (spread.runs < most && spread.standard_error() > 0.008 * spread.mean);
  return spread;
}

/// The union bound on its error, which takes outputs in pairs: (M - 1) Phi(-z) with
/// z^2 = d / (2 P (1/M + 1/d)).
double union_bound(const StoredItems& c) {
  const auto d = static_cast<double>(c.dimension), P = static_cast<double>(c.stored);
  const double z = std::sqrt(d / (2 * P * (1.0 / c.outputs + 1 / d)));
  return std::min(1.0, (c.outputs - 1) * normal_cdf(-z));
}

/// A predicted error over the simulated one, with the standard error that the simulation gives it.
ResultPoint ratio_point(double predicted, const Spread& simulated) {
  const double ratio = predicted / simulated.mean,
               error = ratio * error_of(simulated) / simulated.mean;
  return {.series = "predicted / simulated",
          .x = simulated.mean,
          .y = ratio,
          .spread = error,
          .standard_error = error};
}

}  // namespace

void error_per_item(StudyContext& context) {
  ItemSettings quick;
  quick.most_runs = 4000;
  const ItemSettings settings = context.settings(quick, ItemSettings(), kNoSetting);
  if (settings.most_runs < settings.runs)
    throw UsageError("most_runs is {}, expected at least runs, {}", settings.most_runs,
                     settings.runs);
  Table table("Error of reading one of P equally weighted associations",
              {"M", "d", "P", "predicted", "simulated", "standard error", "runs",
               "predicted / simulated", "union of pairs, |e| = 1"});
  Series ratios{"predicted / simulated", {}, SeriesStyle::kPoints};
  Progress progress(context.progress(), "Error per item", std::ssize(kStoredItems));
  int64_t done = 0;
  for (const StoredItems& c : kStoredItems) {
    const std::string name =
        fmt::format("M = {}, d = {}, P = {}", c.outputs, c.dimension, c.stored);
    const Spread simulated = measured_once(context, name, [&] {
      return simulated_item_error(c, settings.runs, settings.most_runs,
                                  run_seed(context.seed(), done));
    });
    const double predicted =
        stored_item_error(c.outputs, static_cast<double>(c.stored), c.dimension);
    table.add_row({c.outputs, c.dimension, c.stored, Cell::significant(predicted, 3),
                   mean_cell(simulated), error_cell(simulated), simulated.runs,
                   simulated.mean > 0 ? Cell::fixed(predicted / simulated.mean, 3) : Cell(),
                   Cell::significant(union_bound(c), 3)});
    progress.update(++done, name);
    if (simulated.mean == 0) continue;
    const ResultPoint point = ratio_point(predicted, simulated);
    context.results().add_point(point);
    ratios.points.push_back({point.x, point.y, point.spread});
  }
  context.results().add_table("items", std::move(table));
  auto chart = std::make_unique<LineChart>("Predicted error per stored association",
                                           Axis{"simulated error", Scale::kLog},
                                           Axis{"predicted / simulated"});
  chart->add(std::move(ratios));
  for (const double bound : {0.97, 1.03})
    chart->add({fmt::format("{:g}", bound), {{1e-3, bound}, {1, bound}}, SeriesStyle::kReference});
  context.results().add_chart("ratios", std::move(chart),
                              "The chance that the largest of the M correlated scores (eqs. 30-33) "
                              "is the wrong one, beside simulation with one standard error; "
                              "dashed: 3 %.");
}

namespace {

/// Errors of argmax and of the likelihood ratio on n stored pairs with independent keys.
struct DecoderErrors {
  double plain = 0, ratio = 0, predicted = 0;
};

DecoderErrors decode_all(int64_t outputs, int64_t pairs, int64_t d, double alpha, uint64_t seed) {
  const AliasTable table(zipf_task(outputs, 1, alpha).law);
  RandomStream random(seed, kSampleStream);
  std::vector<int32_t> answer(pairs);
  std::vector<double> counts(outputs, 0.0), prior;
  for (int32_t& y : answer) ++counts[y = table.draw(random)];
  for (const double count : counts) prior.push_back(count / static_cast<double>(pairs));

  const auto u = random_directions(outputs, d, seed);
  std::vector<float> keys = gaussian_rows(pairs, d, seed, 3), values(keys.size()),
                     read(keys.size()), w(d * d), scores(pairs * outputs);
  for (float& k : keys) k /= std::sqrt(static_cast<float>(d));
  for (int64_t x = 0; x < pairs; ++x)
    std::copy_n(u.begin() + answer[x] * d, d, values.begin() + x * d);
  transposed_multiply(d, d, pairs, values.data(), d, keys.data(), d, 0, w.data(), d);
  multiply_transposed(pairs, d, d, keys.data(), d, w.data(), d, 0, read.data(), d);
  multiply_transposed(pairs, outputs, d, read.data(), d, u.data(), d, 0, scores.data(), outputs);

  const auto noise = class_noise(w, u, d);
  DecoderErrors errors;
  for (int64_t x = 0; x < pairs; ++x) {
    const std::span<const float> line(scores.data() + x * outputs, outputs);
    const double n = pairs;
    errors.plain += (std::max_element(line.begin(), line.end()) - line.begin() != answer[x]) / n;
    errors.ratio += (likelihood_ratio_answer(line, noise, prior) != answer[x]) / n;
  }
  MemorySummary memory;  // the energy of an output is how many pairs it has
  group_outputs(counts, memory.outputs);
  for (const auto& [count, energy] : memory.outputs)
    memory.inputs.push_back({.mass = count * energy / static_cast<double>(pairs),
                             .weight = 1,
                             .class_energy = std::max(0.0, energy - 1),
                             .output_group = static_cast<int32_t>(memory.inputs.size())});
  errors.predicted = predicted_error(memory, d);
  return errors;
}

}  // namespace

void decoders(StudyContext& context) {
  const Settings settings =
      settings_of(context, {.runs = 4, .inputs = 8192, .outputs = 1000, .alpha = 1});
  constexpr int64_t d = 512;
  const int64_t sizes[] = {512, 1024, 2048, 4096, 8192};
  if (settings.inputs < sizes[0])
    throw UsageError("inputs is {}, expected {} or more: so many pairs are stored at least",
                     settings.inputs, sizes[0]);
  Table table(fmt::format("Errors on n stored pairs, V = {} outputs, d = {}, independent keys "
                          "(reference: another implementation)",
                          settings.outputs, d),
              {"outputs", "n", "argmax", "argmax: standard error", "argmax: reference",
               "likelihood ratio", "likelihood ratio: standard error",
               "likelihood ratio: reference", "planner", "argmax / ratio"});
  constexpr double kNone = ResultPoint::kNone;
  const double expected[5][2] = {
      {kNone, kNone}, {kNone, kNone}, {.184, .074}, {.385, .187}, {.628, .379}};
  const auto stored = std::ranges::upper_bound(sizes, settings.inputs) - std::begin(sizes);
  Progress progress(context.progress(), "Decoders", stored);
  for (int64_t k = 0; k < stored; ++k) {
    const auto spreads =
        measured(context, fmt::format("n = {}", sizes[k]), settings.runs, 3, [&](uint64_t seed) {
          const auto errors = decode_all(settings.outputs, sizes[k], d, settings.alpha, seed);
          return std::vector<double>{errors.plain, errors.ratio, errors.predicted};
        });
    const auto expected_error = [&](int decoder) {
      return fixed_or_empty(context.reference(expected[k][decoder]), 3);
    };
    table.add_row(
        {fmt::format("Zipf({:g})", settings.alpha), sizes[k], Cell::fixed(spreads[0].mean, 3),
         error_cell(spreads[0]), expected_error(0), Cell::fixed(spreads[1].mean, 3),
         error_cell(spreads[1]), expected_error(1), Cell::fixed(spreads[2].mean, 3),
         spreads[1].mean > 0 ? Cell::fixed(spreads[0].mean / spreads[1].mean, 1) : Cell()});
    const double n = sizes[k];
    context.results().add_point(point_of("argmax", n, spreads[0]));
    context.results().add_point(point_of("likelihood ratio", n, spreads[1]));
    context.results().add_point(point_of("planner", n, spreads[2]));
    progress.advance();
  }
  context.results().add_table("errors", std::move(table));
  context.results().add_chart(
      "decoders",
      context.results().chart_of_points("Errors against stored pairs",
                                        {"stored pairs n", Scale::kLog}, kLogError),
      "A few frequent outputs bring most of the noise. The largest score (eq. 2) errs as the "
      "planner says; the likelihood ratio, which divides each score by the noise ‖Wᵀu_y‖²/d of its "
      "output, errs less on the same memory. Bands: one standard error.");
  context.results().add_difference(
      "The reference's errors on 512 and 1,024 pairs are left out: another simulation of them "
      "agrees with ours and not with it.");
}

}  // namespace tessera::scaling_laws
