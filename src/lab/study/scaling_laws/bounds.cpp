// Theorem 1, Proposition 4 and equation (26): what the paper proves beside what comes out.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lab/study/scaling_laws/studies.h"
#include "lab/theory/bounds.h"
#include "lab/theory/simulated_errors.h"
#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/plan/association_task.h"
#include "tessera/plan/planner.h"
#include "tessera/plan/population_error.h"
#include "tessera/report/panels.h"

namespace tessera::scaling_laws {

using namespace theory;

namespace {

/// A line of a chart through the means, with a band of one standard error.
Series measured_line(const std::string& name, std::span<const double> x,
                     std::span<const Spread> y) {
  Series line{name, {}};
  for (size_t k = 0; k < x.size(); ++k) line.points.push_back({x[k], y[k].mean, error_of(y[k])});
  return line;
}

}  // namespace

void theorem1(StudyContext& context) {
  const Settings settings = settings_of(context, {.runs = 20, .inputs = 1000}, kNoSetting);
  if (settings.outputs < 4)
    throw UsageError("outputs is {}; Theorem 1 needs at least 4", settings.outputs);
  const AssociationTask task = task_of(settings);
  // Theorem 1 holds for d > 8 log M.
  const auto lowest = static_cast<int64_t>(8 * std::log(settings.outputs)) + 1;
  const auto dimensions = log_spaced(std::max<int64_t>(20, lowest), 1'000'000, 15);
  const auto d = as_doubles(dimensions);
  Table table("The error between the bounds of Theorem 1",
              {"q", "d", "lower bound (8)", "simulated", "standard error", "p(d q² <= Q) (9)",
               "upper bound (7)"});
  auto panels = std::make_unique<Panels>("Expected error between its bounds");
  Progress progress(context.progress(), "Theorem 1", 2);
  for (const double rho : {1.0, 0.0}) {
    const std::string q = rho == 0 ? "q₀ (all equally)" : "q₁ (by frequency)";
    const auto weights = scheme_weights({.rho = rho}, task.law);
    const auto errors = simulated_errors(context, q, settings.runs, task, {.rho = rho}, dimensions);
    std::vector<double> lower, survival, upper;
    for (size_t k = 0; k < d.size(); ++k) {
      lower.push_back(theorem1_lower_bound(task, weights, dimensions[k]));
      survival.push_back(survival_error(task, weights, dimensions[k]));
      upper.push_back(std::min(1.0, theorem1_upper_bound(task, weights, dimensions[k])));
      table.add_row({q, dimensions[k], Cell::significant(lower[k], 3), mean_cell(errors[k]),
                     error_cell(errors[k]), Cell::significant(survival[k], 3),
                     Cell::significant(upper[k], 3)});
    }
    add_curve(context.results(), q, d, errors);
    auto chart =
        std::make_unique<LineChart>(q, kLogDimension, Axis{kErrorLabel, Scale::kLog, 1e-6, 1});
    chart->add(line_through("upper bound (eq. 7)", d, upper, SeriesStyle::kReference));
    chart->add(measured_line("simulated", d, errors));
    chart->add(line_through("mass of eq. 9", d, survival));
    chart->add(line_through("lower bound (eq. 8)", d, lower, SeriesStyle::kReference));
    panels->add(std::move(chart));
    progress.advance();
  }
  context.results().add_table("numbers", std::move(table));
  context.results().add_chart(
      "bounds", std::move(panels),
      "Theorem 1: the expected error lies between (8), 1/20 of the mass of the inputs that drown "
      "in the noise for sure, and (7). The bound (7) says nothing (1) in the dimensions one "
      "builds; the mass (9) of the inputs with d q² below the largest class energy Q follows the "
      "error up to logarithms. Where nothing is lost a curve ends.");
}

void proposition4(StudyContext& context) {
  const Settings settings = settings_of(context, {.runs = 20, .inputs = 100'000}, kNoSetting);
  if (!(settings.alpha > 1))
    throw UsageError("alpha is {:g}; Proposition 4 needs more than 1", settings.alpha);
  const AssociationTask task = task_of(settings);
  const RankedLaw law = RankedLaw::zipf(settings.inputs, settings.alpha);
  const std::vector<int64_t> dimensions = {30, 100, 300, 1000, 3000};
  const std::vector<int64_t> samples = {100, 1000, 10'000, 100'000, 1'000'000};
  Table table("Error after T samples in dimension d, the best P stored equally",
              {"d", "T", "P", "expected", "simulated", "standard error", "T^(-1+1/α) + d^(-(α-1))",
               "simulated / rate"});
  auto chart =
      std::make_unique<LineChart>("Error against data and dimension", kLogSamples, kLogError);
  Progress progress(context.progress(), "Proposition 4", std::ssize(dimensions));
  for (const int64_t d : dimensions) {
    const std::string name = fmt::format("d = {}", d);
    std::vector<Spread> errors;
    std::vector<double> rates;
    for (const int64_t T : samples) {
      const auto plan = best_memory(law, settings.outputs, d, static_cast<double>(T));
      const Spread simulated = errors.emplace_back(measured_number(
          context, fmt::format("T = {}, d = {}", T, d), settings.runs, [&](uint64_t seed) {
            RandomStream random(seed, kSampleStream);
            const auto counts = sample_counts(task.law, T, random);
            const auto weights =
                scheme_weights({.rho = 0, .stored = plan.stored}, std::span(counts));
            return marginal_error(with_shared_mass(task, weights), weights, d, seed);
          }));
      rates.push_back(finite_data_rate(settings.alpha, d, static_cast<double>(T)));
      table.add_row({d, T, plan.stored, Cell::significant(plan.error, 3), mean_cell(simulated),
                     error_cell(simulated), Cell::significant(rates.back(), 3),
                     Cell::fixed(simulated.mean / rates.back(), 2)});
      context.results().add_point(point_of(name, static_cast<double>(T), simulated));
    }
    const auto x = as_doubles(samples);
    chart->add(measured_line(name, x, errors));
    chart->add(
        line_through(fmt::format("eq. 15, {}", name), x, rates, SeriesStyle::kReference, name));
    progress.advance();
  }
  context.results().add_table("numbers", std::move(table));
  context.results().add_chart(
      "errors", std::move(chart),
      "Proposition 4: few data and a small memory add up. Dashed, in the colour of its dimension: "
      "the rate (15) without its constants, T^(-1+1/α) + d^(-(α-1)); each curve falls with T until "
      "its dimension binds it. Simulated errors are averaged over which of the inputs stored alike "
      "has which embedding.");
}

namespace {

/// A law of inputs p(x), x = 1, 2, …, and what (26) says of it.
struct RankLaw {
  const char* name;
  std::vector<double> law;
  std::function<double(double)> rate;  // error after T samples
  const char* formula;
};

/// p(x) for x = 1, 2, … until it is below 1e-15 or `most` inputs are there, with sum 1.
std::vector<double> normalised(const std::function<double(double)>& shape, int64_t most) {
  std::vector<double> law;
  double total = 0;
  for (int64_t x = 1; x <= most; ++x) {
    const double p = shape(static_cast<double>(x));
    if (p < 1e-15) break;
    law.push_back(p);
    total += p;
  }
  for (double& p : law) p /= total;
  return law;
}

/// alpha: of the Zipf law.
std::vector<RankLaw> rank_laws(const Settings& settings) {
  constexpr double kDecay = 0.1;
  const double alpha = settings.alpha;
  const auto geometric = [](double x) { return std::exp(-kDecay * x); };
  const auto stretched = [](double x) { return std::exp(-std::sqrt(x)); };
  const std::vector<double> roots = normalised(stretched, settings.inputs);
  const double largest = roots.front() / stretched(1);  // C of p = C exp(-sqrt x)
  return {{"Zipf", task_of(settings).law, [alpha](double T) { return unseen_mass_rate(alpha, T); },
           "c T^(-1+1/α)"},
          {"exp(-x/10)", normalised(geometric, settings.inputs),
           [](double T) { return 1 / (kDecay * T); }, "10 / T"},
          {"exp(-√x)", roots,
           [largest](double T) { return 2 * (std::log(largest * T) + std::numbers::egamma) / T; },
           "2 (log(C T) + γ) / T"}};
}

/// The mass that `samples` samples of a law do not show.
double unseen_in_run(const RankLaw& law, int64_t samples, uint64_t seed) {
  RandomStream random(seed, kSampleStream);
  const auto counts = sample_counts(law.law, samples, random);
  double mass = 0;
  for (size_t x = counts.size(); x-- > 0;)
    if (counts[x] == 0) mass += law.law[x];
  return mass;
}

}  // namespace

void other_laws(StudyContext& context) {
  const Settings settings = settings_of(
      context, {.runs = 20, .inputs = 1'000'000, .unused = {"outputs"}});  // it is about inputs
  if (!(settings.alpha > 1))
    throw UsageError("alpha is {:g}; (26) needs more than 1 here", settings.alpha);
  const std::vector<int64_t> samples = {30, 100, 300, 1000, 3000, 10'000, 30'000};
  const auto T = as_doubles(samples);
  Table table("What T samples do not show",
              {"p(x)", "T", "equation (26)", "Σ p (1-p)^T", "simulated", "standard error"});
  auto chart = std::make_unique<LineChart>("Error of an infinite memory", kLogSamples, kLogError);
  for (const RankLaw& one : rank_laws(settings)) {
    const auto errors = measured_each(
        context, one.name, settings.runs, samples,
        [&](int64_t count, uint64_t seed) { return unseen_in_run(one, count, seed); });
    const RankedLaw ranked = RankedLaw::counted(one.law);
    std::vector<double> rates;
    for (size_t k = 0; k < T.size(); ++k) {
      rates.push_back(one.rate(T[k]));
      table.add_row({one.name, samples[k], Cell::significant(rates[k], 3),
                     Cell::significant(ranked.unseen_mass(T[k]), 3), mean_cell(errors[k]),
                     error_cell(errors[k])});
    }
    add_curve(context.results(), one.name, T, errors);
    context.results().compare({fmt::format("{}: error after {} samples (published: by equation 26)",
                                           one.name, samples.back()),
                               rates.back(), errors.back().mean});
    chart->add(measured_line(one.name, T, errors));
    chart->add(line_through(one.formula, T, rates, SeriesStyle::kReference, one.name));
  }
  context.results().add_table("numbers", std::move(table));
  context.results().add_chart(
      "laws", std::move(chart),
      "Proposition 1 beyond Zipf: with p(x) = g(x), g decreasing, the error of an infinite memory "
      "after T samples is about the integral of t exp(-T t) / |g'(g⁻¹(t))| (eq. 26), dashed. The "
      "lighter the tail, the closer to 1/T.");
}

}  // namespace tessera::scaling_laws
