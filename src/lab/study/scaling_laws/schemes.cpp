// Figures 1, 3, 10 and 11 and table 1: memories written by a scheme.

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "lab/study/scaling_laws/studies.h"
#include "lab/theory/associative_model.h"
#include "lab/theory/bounds.h"
#include "tessera/base/progress.h"
#include "tessera/plan/error_predictor.h"
#include "tessera/plan/planner.h"
#include "tessera/plan/population_error.h"
#include "tessera/report/heat_map.h"
#include "tessera/report/panels.h"

namespace tessera::scaling_laws {
namespace {

using namespace theory;

/// A memory of the d/8 most frequent inputs for each d; weights come from `counts` or the law.
template <typename Counts>
void add_thresholded(const Counts& counts, const std::vector<int64_t>& dimensions,
                     std::vector<SimulatedMemory>& memories) {
  const auto inputs = std::ssize(counts);
  for (const int64_t d : dimensions) {
    const int64_t stored = std::clamp<int64_t>(d / 8, 1, inputs);
    memories.push_back({scheme_weights({.rho = 0, .stored = stored}, std::span(counts)), {d}});
  }
}

/// Counts at growing numbers of samples of one draw: [T][N].
std::vector<std::vector<int64_t>> nested_counts(const AssociationTask& task,
                                                const std::vector<int64_t>& samples,
                                                uint64_t seed) {
  RandomStream random(seed, kSampleStream);
  std::vector<std::vector<int64_t>> counts;
  std::vector<int64_t> so_far(task.law.size(), 0);
  int64_t drawn = 0;
  for (const int64_t T : samples) {
    const auto more = sample_counts(task.law, T - drawn, random);
    for (size_t x = 0; x < more.size(); ++x) so_far[x] += more[x];
    drawn = T;
    counts.push_back(so_far);
  }
  return counts;
}

/// Errors of the d/8 most frequent inputs after so many samples, as a curve by dimension. Counts of
/// a run grow from number to number, embeddings stay.
std::vector<Spread> add_errors_after(StudyContext& context, const Settings& settings,
                                     const AssociationTask& task,
                                     const std::vector<int64_t>& samples, size_t t) {
  const std::string name = fmt::format("T = {}", samples[t]);
  auto errors = measured(context, name, settings.runs, kUsualDimensions.size(), [&](uint64_t seed) {
    std::vector<SimulatedMemory> memories;
    add_thresholded(nested_counts(task, samples, seed)[t], kUsualDimensions, memories);
    return flat(population_errors(task, memories, seed));
  });
  add_curve(context.results(), name, as_doubles(kUsualDimensions), errors);
  return errors;
}

}  // namespace

void finite_data_and_memory(StudyContext& context) {
  const Settings settings = settings_of(context, {.runs = 100, .inputs = 1000});
  const AssociationTask task = task_of(settings);
  const std::vector<int64_t> samples = {10, 30, 100, 300, 1000, 3000, 10000};
  const auto d = as_doubles(kUsualDimensions), T = as_doubles(samples);
  StudyResults& results = context.results();
  Progress progress(context.progress(), "Figure 1", std::ssize(samples));
  std::vector<std::vector<Spread>> errors;  // [T][d]
  std::vector<std::string> by_samples, by_dimension;
  for (size_t t = 0; t < samples.size(); ++t) {
    by_samples.push_back(fmt::format("T = {}", samples[t]));
    errors.push_back(add_errors_after(context, settings, task, samples, t));
    progress.advance();
  }
  for (size_t k = 0; k < d.size(); ++k) {
    std::vector<Spread> column;
    for (const auto& row : errors) column.push_back(row[k]);
    by_dimension.push_back(fmt::format("d = {:g}", d[k]));
    add_curve(results, by_dimension.back(), T, column);
  }
  auto left =
      results.chart_of_points("Error against dimension", kLogDimension, kLogError, by_samples);
  if (context.references_hold()) left->add(reference_line("5 / d", d, 5, -1));
  auto right = results.chart_of_points("Error against data", kLogSamples, kLogError, by_dimension);
  if (context.references_hold()) right->add(reference_line("0.5 / sqrt(T)", T, 0.5, -0.5));
  auto panels = std::make_unique<Panels>("Error against dimension and data");
  panels->add(std::move(left));
  panels->add(std::move(right));
  results.add_chart(
      "errors", std::move(panels),
      fmt::format("The d/8 most frequent inputs of T samples stored equally (eq. 12, ρ = 0). Left: "
                  "the error falls as d^-(α-1){} until the data bind it. Right: it falls as "
                  "T^(-1+1/α) until the memory binds it (Proposition 4, eq. 15). Bands: half a "
                  "standard deviation.",
                  settings.alpha == 2 ? ", here 1/d," : ""));

  ReferenceTable reference(context);
  reference.add_curve("T = 10000, d", d,
                      std::vector<double>{.329, .203, .073, .038, .019, .0082, .0051}, errors[6]);
  reference.add_curve("T = 1000, d", d,
                      std::vector<double>{.329, .203, .074, .040, .021, .0172, .0173}, errors[4]);
  reference.add("T = 100, d = 1000", .056, errors[2][6]);
  reference.add("T = 10, d = 1000", .173, errors[0][6]);
  reference.finish(results);
  results.add_difference(
      "P = d/8 as in the caption; the published code stores d/12. The output embeddings are "
      "normalised again in every dimension.");
}

namespace {

/// Mean errors: numbers of samples to the right, dimensions upwards.
std::unique_ptr<HeatMap> error_map(const std::string& title, const std::vector<int64_t>& dimensions,
                                   const std::vector<int64_t>& samples,
                                   const std::function<double(size_t t, size_t k)>& error) {
  std::vector<std::string> rows, columns;
  std::vector<double> values;
  for (const int64_t T : samples) columns.push_back(std::to_string(T));
  for (size_t k = dimensions.size(); k-- > 0;) {
    rows.push_back(std::to_string(dimensions[k]));
    for (size_t t = 0; t < samples.size(); ++t) values.push_back(error(t, k));
  }
  auto map = std::make_unique<HeatMap>(title, rows, columns, Axis{"error", Scale::kLinear, 0, 0.8});
  map->name_axes("dimension d", "samples T");
  map->set_values(std::move(values));
  return map;
}

/// Errors by another implementation at T = 10000 in these dimensions.
struct MapReference {
  double alpha;
  int rho;
  double errors[5];
};
constexpr int64_t kCompared[] = {10, 30, 100, 300, 1000};
constexpr MapReference kMapReferences[] = {{.5, 0, {.641, .444, .166, .011, .000}},
                                           {.5, 1, {.591, .431, .248, .091, .010}},
                                           {1, 1, {.473, .377, .283, .201, .121}},
                                           {2, 0, {.665, .373, .154, .003, .001}},
                                           {2, 1, {.216, .142, .109, .077, .056}}};

/// Figure 3, left and middle: the error maps of both schemes, and their numbers as points.
void add_error_maps(StudyContext& context, const Settings& settings, double alpha, Panels& maps,
                    ReferenceTable& reference) {
  const auto dimensions = log_spaced(10, 1000, 30), samples = log_spaced(10, 10000, 30);
  const AssociationTask task = zipf_task(settings.inputs, settings.outputs, alpha);
  const std::string part = fmt::format("maps, α = {:g}", alpha);
  const size_t D = dimensions.size(), S = samples.size();
  const size_t count = 2 * (S * D + std::size(kCompared));
  const auto errors = measured(context, part, settings.runs, count, [&](uint64_t seed) {
    std::vector<SimulatedMemory> memories;
    for (const auto& counts : nested_counts(task, samples, seed))
      for (const double rho : {0.0, 1.0})
        memories.push_back({scheme_weights({.rho = rho}, counts), dimensions});
    // At the dimensions that are compared, all data of the run.
    for (size_t rho = 0; rho < 2; ++rho)
      memories.push_back(
          {memories[memories.size() - 2].weights, {std::begin(kCompared), std::end(kCompared)}});
    return flat(population_errors(task, memories, seed));
  });
  for (const size_t rho : {0, 1}) {
    const std::string name = fmt::format("q̂{}, α = {:g}", rho == 0 ? "₀" : "₁", alpha);
    const auto of_samples = [&](size_t t) {
      return std::span(errors).subspan((2 * t + rho) * D, D);
    };
    maps.add(error_map("Error of " + name, dimensions, samples,
                       [&](size_t t, size_t k) { return of_samples(t)[k].mean; }));
    for (size_t t = 0; t < S; ++t)
      add_curve(context.results(), fmt::format("{}, T = {}", name, samples[t]),
                as_doubles(dimensions), of_samples(t));
  }
  for (const auto& [of_alpha, rho, numbers] : kMapReferences)
    for (size_t k = 0; k < std::size(kCompared) && of_alpha == alpha; ++k)
      reference.add(fmt::format("α = {:g}, q{}, T = 10000, d = {}", alpha, rho, kCompared[k]),
                    numbers[k],
                    errors[2 * S * D + static_cast<size_t>(rho) * std::size(kCompared) + k]);
}

/// Figures 3 (right) and 10: all data, schemes q0, q1 and the threshold d/8 against d.
struct SchemeCurves {
  std::vector<Spread> all, frequency, threshold;
};

SchemeCurves infinite_data_curves(StudyContext& context, const Settings& settings,
                                  const std::vector<int64_t>& dimensions) {
  const AssociationTask task = task_of(settings);
  std::vector<SimulatedMemory> memories = {{scheme_weights({.rho = 0}, task.law), dimensions},
                                           {scheme_weights({.rho = 1}, task.law), dimensions}};
  add_thresholded(task.law, dimensions, memories);
  const auto D = std::ssize(dimensions);
  const auto errors = measured(context, "curves", settings.runs, 3 * D, [&](uint64_t seed) {
    return flat(population_errors(task, memories, seed));
  });
  return {{errors.begin(), errors.begin() + D},
          {errors.begin() + D, errors.begin() + 2 * D},
          {errors.begin() + 2 * D, errors.end()}};
}

void add_scheme_chart(StudyContext& context, const SchemeCurves& curves,
                      const std::vector<double>& d) {
  StudyResults& results = context.results();
  add_curve(results, "q₀ (all equally)", d, curves.all);
  add_curve(results, "q₁ (by frequency)", d, curves.frequency);
  add_curve(results, "threshold d/8", d, curves.threshold);
  auto chart = results.chart_of_points("Error of the schemes, all data", kLogDimension, kLogError,
                                       {"q₀ (all equally)", "q₁ (by frequency)", "threshold d/8"});
  if (context.references_hold()) {
    chart->add(reference_line("0.35 d^(-1/4)", d, 0.35, -0.25, "q₁ (by frequency)"));
    chart->add(reference_line("3.5 / d", d, 3.5, -1, "threshold d/8"));
  }
  results.add_chart("schemes", std::move(chart),
                    "T = ∞. The threshold (eq. 12 with ρ = 0) follows d^-(α-1), the rate of "
                    "Proposition 3; q₁ (eq. 11) only d^-(α-1)/(2α), Proposition 2. Bands: half a "
                    "standard deviation over the runs.");
}

/// The line of a rate, x^exponent, through one point, in the colour of a series.
Series rate_through(const std::string& x_name, const std::vector<double>& x, double at,
                    double value, double exponent, const std::string& colour_of = "") {
  return reference_line(fmt::format("{}^({:g})", x_name, exponent), x,
                        value * std::pow(at, -exponent), exponent, colour_of);
}

}  // namespace

void schemes(StudyContext& context) {
  const Settings settings = settings_of(context, {});
  ReferenceTable reference(context);
  Progress progress(context.progress(), "Figure 3", 4);
  auto maps = std::make_unique<Panels>("Error against dimension d and data T");
  for (const double alpha : {0.5, 1.0, 2.0}) {
    add_error_maps(context, settings, alpha, *maps, reference);
    progress.advance();
  }
  context.results().add_chart(
      "maps", std::move(maps),
      "Error (eq. 5) of the schemes q̂₀, all that was seen stored equally (eq. 10), on the left and "
      "q̂₁, stored by frequency (eq. 11), on the right; one colour scale. With few data both are "
      "bound by T; q̂₀ fails where d is below the number of inputs, q̂₁ loses the rare ones.");
  const auto curves = infinite_data_curves(context, settings, kUsualDimensions);
  progress.advance();
  const auto d = as_doubles(kUsualDimensions);
  add_scheme_chart(context, curves, d);
  reference.add_curve("all data, q1, d", d,
                      std::vector<double>{.205, .173, .127, .103, .090, .066, .056},
                      curves.frequency);
  reference.add_curve("all data, threshold d/8, d", d,
                      std::vector<double>{.328, .201, .071, .034, .0145, .0029, 0},
                      curves.threshold);
  reference.finish(context.results());
}

void schemes_with_more_inputs(StudyContext& context) {
  const Settings settings = settings_of(context, {.runs = 100, .inputs = 1000});
  // The dimensions of the other figures, too, so that numbers can be compared.
  std::vector<int64_t> dimensions;
  std::ranges::set_union(log_spaced(10, 1000, 20), kUsualDimensions,
                         std::back_inserter(dimensions));
  const auto curves = infinite_data_curves(context, settings, dimensions);
  add_scheme_chart(context, curves, as_doubles(dimensions));
  ReferenceTable reference(context);
  const double q1[] = {.215, .163, .125, .100, .090, .073, .057};
  const double threshold[] = {.336, .201, .0745, .0387, .0186, .0073, .0034};
  for (size_t k = 0; k < kUsualDimensions.size(); ++k) {
    const size_t at = std::ranges::find(dimensions, kUsualDimensions[k]) - dimensions.begin();
    reference.add(fmt::format("q1, d = {}", dimensions[at]), q1[k], curves.frequency[at]);
    reference.add(fmt::format("threshold d/8, d = {}", dimensions[at]), threshold[k],
                  curves.threshold[at]);
  }
  reference.finish(context.results());
}

void stored_heatmaps(StudyContext& context) {
  const Settings settings =
      settings_of(context, {.inputs = 10, .alpha = 1, .unused = {"runs"}}, kNoSetting);
  const AssociationTask task = task_of(settings);
  const auto counts = nested_counts(task, {1000}, context.seed()).front();
  auto panels = std::make_unique<Panels>("What the schemes answer with");
  for (const int64_t d : {10, 50}) {
    for (const int rho : {0, 1}) {
      // W = sum of q(x) u e^T with q = 1 or the share in the data.
      auto model = random_model(task, d, OutputScale::kUnit, context.seed());
      for (int64_t x = 0; x < task.inputs(); ++x) {
        const float q =
            rho == 0 ? static_cast<float>(counts[x] > 0) : static_cast<float>(counts[x]) / 1000.0f;
        for (int64_t i = 0; i < d; ++i)
          for (int64_t j = 0; j < d; ++j)
            model.memory[i * d + j] +=
                q * model.outputs[task.output[x] * d + i] * model.inputs[x * d + j];
      }
      const auto scores = model_scores(task, model);
      const auto shares = answer_probabilities(task, scores);
      auto map = answer_map(task, scores, fmt::format("q̂{}, d = {}", rho == 0 ? "₀" : "₁", d));
      for (int64_t x = 0; x < task.inputs(); ++x) {
        map->mark(x, task.output[x]);
        for (int32_t y = 0; y < task.outputs; ++y)
          context.results().add_point({fmt::format("q{}, d = {}, x = {}", rho, d, x),
                                       static_cast<double>(y), shares[x * task.outputs + y]});
      }
      panels->add(std::move(map));
    }
  }
  context.results().add_chart(
      "answers", std::move(panels),
      "softmax of u_yᵀ W e_x after 1000 samples, W by eq. 4 with q̂₀ (eq. 10) on the left and q̂₁ "
      "(eq. 11) on the right, d = 10 above d = 50; the right outputs are framed. q̂₀ stores rare "
      "inputs as strongly as frequent ones and mixes them up where d is small; q̂₁ stores by "
      "frequency, so the rare ones drown in the noise of the frequent ones.");
}

void error_rates(StudyContext& context) {
  const Settings settings = settings_of(context, {.inputs = 1'000'000, .unused = {"runs"}});
  const std::vector<int64_t> dimensions = {100, 300, 1000, 3000, 10000};
  const RankedLaw law = RankedLaw::zipf(settings.inputs, settings.alpha);
  const std::vector<double> d = as_doubles(dimensions), T = {1e2, 1e3, 1e4, 1e5};
  std::vector<double> frequency, threshold, unseen;
  for (const int64_t dimension : dimensions) {
    frequency.push_back(predicted_error(
        summarise_zipf_memory(settings.inputs, settings.outputs, settings.alpha, {.rho = 1}),
        dimension));
    threshold.push_back(best_memory(law, settings.outputs, dimension, kAllData).error);
  }
  for (const double samples : T) unseen.push_back(law.unseen_mass(samples));
  StudyResults& results = context.results();
  const std::string by_frequency = "q = p (against d)",
                    by_threshold = "q = 1 on the best P (against d)", either = "either (against T)";
  add_values(results, by_frequency, d, frequency);
  add_values(results, by_threshold, d, threshold);
  add_values(results, either, T, unseen);

  // The rates of the table, through our first points, and through the last one of T.
  const double slow = -unthresholded_exponent(settings.alpha, 1),
               fast = -thresholded_exponent(settings.alpha, 0), of_data = -1 + 1 / settings.alpha;
  auto against_dimension = results.chart_of_points("Expected error, all data", kLogDimension,
                                                   kLogError, {by_frequency, by_threshold});
  against_dimension->add(rate_through("d", d, d.front(), frequency.front(), slow, by_frequency));
  against_dimension->add(rate_through("d", d, d.front(), threshold.front(), fast, by_threshold));
  results.add_chart(
      "dimension", std::move(against_dimension),
      "Proposition 2 for q = p (eq. 13) and Proposition 3 for a threshold (eq. 14). The "
      "threshold's slope is flatter than its rate: the best P is about d / log d, so the error is "
      "about (log d / d)^(α-1).");
  auto against_samples =
      results.chart_of_points("Expected error, infinite memory", kLogSamples, kLogError, {either});
  against_samples->add(rate_through("T", T, T.back(), unseen.back(), of_data));
  results.add_chart("samples", std::move(against_samples),
                    "What T samples do not show (Proposition 1, eq. 6): the share of the error "
                    "that no scheme avoids.");
  results.compare({"q = p: exponent of d", slow, exponent_of(d, frequency)});
  results.compare(
      {"q = 1 on the most frequent: exponent of d (published: without the "
       "logarithm that the best P brings)",
       fast, exponent_of(d, threshold)});
  results.compare({"both: exponent of T", of_data, exponent_of(T, unseen)});
  results.add_difference(
      "The slopes are those of the expected error by quadrature, not of simulated runs; P is the "
      "best one for each d, where the table stores d (which logarithms forbid in practice).");
}

}  // namespace tessera::scaling_laws
