#include "lab/study/scaling_laws/studies.h"

#include <algorithm>
#include <cmath>

#include "lab/theory/simulated_errors.h"
#include "tessera/base/error.h"
#include "tessera/plan/parallel.h"

namespace tessera::scaling_laws {

theory::AssociationTask task_of(const Settings& settings) {
  return theory::zipf_task(settings.inputs, settings.outputs, settings.alpha);
}

Settings settings_of(StudyContext& context, Settings paper, const SettingNames& bound) {
  Settings quick = paper;
  quick.runs = std::min(paper.runs, std::max<int64_t>(4, paper.runs / 10));
  Settings settings = context.settings(quick, paper, bound);
  context.results().introduce(
      "A memory is one d × d matrix. It stores which of M outputs belongs to each of N inputs; how "
      "often input x comes falls as x^-α. T are the inputs seen, γ is the step size where "
      "the matrix is learned by descent. The error is the share of questions answered wrongly.");
  return settings;
}

theory::WeightedBatch Samples::batch(int64_t size) {
  std::vector<int32_t> draws(size);
  for (int32_t& input : draws) input = draw();
  return theory::weighted_batch(draws);
}

std::vector<Spread> measured(StudyContext& context, const std::string& part, int64_t runs,
                             size_t count, const RunNumbers& numbers, int64_t first_run) {
  // Mean and deviation of each number, one after the other.
  const auto kept = context.part(part, 2 * count, [&] {
    const auto of_runs = theory::parallel_runs(
        runs, [&](int64_t run) { return numbers(run_seed(context.seed(), first_run + run)); });
    std::vector<double> spreads;
    for (size_t k = 0; k < count; ++k) {
      std::vector<double> column;
      for (const auto& run : of_runs) column.push_back(run[k]);
      const Spread spread = spread_of(column);
      spreads.insert(spreads.end(), {spread.mean, spread.deviation});
    }
    return spreads;
  });
  std::vector<Spread> spreads;
  for (size_t k = 0; k < count; ++k) spreads.push_back({kept[2 * k], kept[2 * k + 1], runs});
  return spreads;
}

std::vector<double> trial_means(StudyContext& context, const std::string& part, int64_t runs,
                                size_t count, const RunNumbers& numbers) {
  return means_of(
      measured(context, part + ", to choose by", runs, count, numbers, /*first_run=*/runs));
}

size_t place_of_least(std::span<const double> values) {
  return std::ranges::min_element(values) - values.begin();
}

Spread measured_number(StudyContext& context, const std::string& part, int64_t runs,
                       const std::function<double(uint64_t seed)>& number) {
  return measured(context, part, runs, 1, [&](uint64_t seed) { return std::vector{number(seed)}; })
      .front();
}

std::vector<Spread> measured_each(
    StudyContext& context, const std::string& part, int64_t runs, std::span<const int64_t> values,
    const std::function<double(int64_t value, uint64_t seed)>& number) {
  return measured(context, part, runs, values.size(), [&](uint64_t seed) {
    std::vector<double> numbers;
    for (const int64_t value : values) numbers.push_back(number(value, seed));
    return numbers;
  });
}

std::vector<double> flat(const std::vector<std::vector<double>>& errors) {
  std::vector<double> all;
  for (const auto& of_memory : errors) all.insert(all.end(), of_memory.begin(), of_memory.end());
  return all;
}

std::vector<Spread> simulated_errors(StudyContext& context, const std::string& part, int64_t runs,
                                     const theory::AssociationTask& task,
                                     const theory::MemoryScheme& scheme,
                                     const std::vector<int64_t>& dimensions) {
  const auto weights = theory::scheme_weights(scheme, task.law);
  return measured_each(context, part, runs, dimensions, [&](int64_t d, uint64_t seed) {
    return theory::marginal_error(task, weights, d, seed);
  });
}

std::vector<double> means_of(std::span<const Spread> spreads) {
  std::vector<double> means;
  for (const Spread& spread : spreads) means.push_back(spread.mean);
  return means;
}

double error_of(const Spread& measured) {
  return measured.runs > 1 ? measured.standard_error() : ResultPoint::kNone;
}

Cell mean_cell(const Spread& measured) {
  return Cell::significant(measured.mean, 3);
}

Cell error_cell(const Spread& measured) {
  return measured.runs > 1 ? Cell::significant(measured.standard_error(), 2) : Cell();
}

void add_curve(StudyResults& results, const std::string& series, std::span<const double> x,
               std::span<const Spread> y, std::span<const double> published) {
  for (size_t k = 0; k < x.size(); ++k)
    results.add_point({.series = series,
                       .x = x[k],
                       .y = y[k].mean,
                       .spread = y[k].runs > 1 ? 0.5 * y[k].deviation : ResultPoint::kNone,
                       .published = published.empty() ? ResultPoint::kNone : published[k],
                       .standard_error = error_of(y[k])});
}

void add_values(StudyResults& results, const std::string& series, std::span<const double> x,
                std::span<const double> y) {
  for (size_t k = 0; k < x.size(); ++k) results.add_point({.series = series, .x = x[k], .y = y[k]});
}

ResultPoint point_of(const std::string& series, double x, const Spread& y) {
  const double error = error_of(y);
  return {.series = series, .x = x, .y = y.mean, .spread = error, .standard_error = error};
}

Series line_through(const std::string& name, std::span<const double> x, std::span<const double> y,
                    SeriesStyle style, const std::string& colour_of) {
  Series line{name, {}, style, colour_of};
  for (size_t k = 0; k < x.size(); ++k) line.points.push_back({x[k], y[k]});
  return line;
}

ReferenceTable::ReferenceTable(const StudyContext& context)
    : holds_(context.references_hold()),
      table_(
          "Another implementation of the same equations beside ours (the paper draws curves "
          "without numbers)",
          {"what", "reference", "ours", "standard error", "difference"}) {}

void ReferenceTable::add(const std::string& what, double reference, const Spread& ours) {
  if (std::isnan(reference)) return;
  table_.add_row({what, Cell::significant(reference, 3), mean_cell(ours), error_cell(ours),
                  Cell::significant(ours.mean - reference, 2)});
}

void ReferenceTable::add_curve(const std::string& what, std::span<const double> x,
                               std::span<const double> reference, std::span<const Spread> ours) {
  for (size_t k = 0; k < x.size() && k < reference.size(); ++k)
    add(fmt::format("{} = {:g}", what, x[k]), reference[k], ours[k]);
}

void ReferenceTable::finish(StudyResults& results) {
  if (holds_) results.add_table("reference", std::move(table_));
}

std::vector<double> answer_probabilities(const theory::AssociationTask& task,
                                         std::span<const float> scores) {
  const size_t outputs = task.outputs;
  std::vector<double> shares(scores.size());
  for (size_t first = 0; first < scores.size(); first += outputs) {
    const auto line = scores.subspan(first, outputs);
    const float largest = *std::max_element(line.begin(), line.end());
    double total = 0;
    for (size_t y = 0; y < outputs; ++y)
      total += shares[first + y] = std::exp(double{line[y]} - largest);
    for (size_t y = 0; y < outputs; ++y) shares[first + y] /= total;
  }
  return shares;
}

std::unique_ptr<HeatMap> answer_map(const theory::AssociationTask& task,
                                    std::span<const float> scores, const std::string& title) {
  std::vector<std::string> inputs, outputs;
  for (int64_t x = 0; x < task.inputs(); ++x) inputs.push_back(std::to_string(x));
  for (int32_t y = 0; y < task.outputs; ++y) outputs.push_back(std::to_string(y));
  auto map =
      std::make_unique<HeatMap>(title, inputs, outputs, Axis{"probability", Scale::kLinear, 0, 1});
  map->name_axes("input x", "output y");
  map->set_values(answer_probabilities(task, scores));
  return map;
}

Series reference_line(const std::string& name, std::span<const double> x, double constant,
                      double power, const std::string& colour_of) {
  std::vector<double> y;
  for (const double at : x) y.push_back(constant * std::pow(at, power));
  return line_through(name, x, y, SeriesStyle::kReference, colour_of);
}

double exponent_of(std::span<const double> x, std::span<const double> errors) {
  return std::ranges::min(errors) > 0 ? log_log_slope(x, errors) : ResultPoint::kNone;
}

std::vector<double> as_doubles(std::span<const int64_t> values) {
  return {values.begin(), values.end()};
}

std::vector<int64_t> log_spaced(int64_t low, int64_t high, int64_t count) {
  std::vector<int64_t> values;
  const double ratio = static_cast<double>(high) / static_cast<double>(low);
  for (int64_t k = 0; k < count; ++k) {
    const double share = count > 1 ? static_cast<double>(k) / static_cast<double>(count - 1) : 0.0;
    const int64_t value = std::llround(static_cast<double>(low) * std::pow(ratio, share));
    if (values.empty() || value > values.back()) values.push_back(value);
  }
  return values;
}

}  // namespace tessera::scaling_laws
