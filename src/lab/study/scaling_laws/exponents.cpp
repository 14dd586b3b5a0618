// Propositions 2 and 3 and Theorem 2: the exponents of d beside the measured ones.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lab/study/scaling_laws/studies.h"
#include "lab/theory/bounds.h"
#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/plan/association_task.h"
#include "tessera/plan/error_predictor.h"
#include "tessera/plan/parallel.h"
#include "tessera/plan/planner.h"
#include "tessera/report/panels.h"
#include "tessera/report/text.h"

namespace tessera::scaling_laws {
namespace {

using namespace theory;

/// What simulates memories, where the studies of their expected error have nothing to simulate.
const SettingNames kOfSimulation = {"runs", "simulated_inputs"};

/// Settings of the studies that measure exponents.
struct ExponentSettings {
  int64_t runs = 8;
  int64_t simulated_inputs = 1'000'000;
  int64_t inputs = 100'000'000;
  int32_t outputs = 5;
  std::vector<double> alphas = {1.5, 2, 3};
  std::vector<double> rhos = {0.5, 0.75, 1};
  SettingNames unused = {};  ///< those of them that a study does not have

  template <typename Visitor>
  void visit_fields(Visitor&& visitor) {
    const auto field = all_but(unused, visitor);
    field("runs", runs, "independent draws of embeddings", config::at_least(1));
    field("simulated_inputs", simulated_inputs, "number of inputs of the simulated memories, N",
          config::at_least(1));
    field("inputs", inputs, "number of inputs for the expected error, N", config::at_least(1));
    field("outputs", outputs, "number of outputs, M", config::between(2, INT32_MAX));
    field("alphas", alphas, "exponents of the Zipf law");
    field("rhos", rhos, "exponents of the scheme q = p^rho", config::at_least(0));
  }
};

ExponentSettings exponent_settings(StudyContext& context, const ExponentSettings& paper) {
  ExponentSettings quick = paper;
  quick.runs = 2;
  quick.alphas.resize(std::min<size_t>(2, paper.alphas.size()));
  quick.simulated_inputs = std::min<int64_t>(paper.simulated_inputs, 100'000);
  // The statements hold for every law and scheme.
  const ExponentSettings settings = context.settings(quick, paper, kNoSetting);
  check_list("alphas", settings.alphas);
  check_list("rhos", settings.rhos);
  for (const double alpha : settings.alphas)
    if (!(alpha > 1)) throw UsageError("alphas has {:g}; the statements need more than 1", alpha);
  return settings;
}

/// The dashed line with this exponent a little below a curve with this last value, which would hide
/// it.
Series rate_below(const std::string& curve, const std::vector<double>& x, double last,
                  double exponent) {
  constexpr double kBelow = 0.85;
  return reference_line(fmt::format("slope {:.3g}", exponent), x,
                        kBelow * last / std::pow(x.back(), exponent), exponent, curve);
}

/// The threshold P of q = p^rho restricted to P inputs that errs least in dimension d: golden
/// section over log P.
struct BestThreshold {
  double stored = 0, error = 0;
};

BestThreshold best_threshold(const ExponentSettings& settings, double alpha, double rho,
                             int64_t d) {
  const auto error_at = [&](double log_stored) {
    const auto stored = static_cast<int64_t>(std::llround(std::exp(log_stored)));
    return predicted_error(summarise_zipf_memory(settings.inputs, settings.outputs, alpha,
                                                 {.rho = rho, .stored = stored}),
                           d);
  };
  constexpr double kShare = 1 / std::numbers::phi;
  double low = 0, high = std::log(std::min<double>(static_cast<double>(settings.inputs), 20.0 * d));
  double left = high - kShare * (high - low), right = low + kShare * (high - low);
  double left_error = error_at(left), right_error = error_at(right);
  while (high - low > 0.02) {
    if (left_error < right_error) {
      high = right;
      right = left;
      right_error = left_error;
      left = high - kShare * (high - low);
      left_error = error_at(left);
    } else {
      low = left;
      left = right;
      left_error = right_error;
      right = low + kShare * (high - low);
      right_error = error_at(right);
    }
  }
  const double middle = (low + high) / 2;
  return {std::exp(middle), error_at(middle)};
}

/// The standard error of exponent_of() the means, where those of different x are independent; NaN
/// where they have none.
double error_of_exponent(const std::vector<double>& x, std::span<const Spread> y) {
  double mean = 0, squares = 0, variance = 0;
  for (const double value : x) mean += std::log(value) / std::ssize(x);
  for (const double value : x) squares += std::pow(std::log(value) - mean, 2);
  for (size_t k = 0; k < x.size(); ++k)
    variance += std::pow((std::log(x[k]) - mean) / squares * error_of(y[k]) / y[k].mean, 2);
  return std::sqrt(variance);
}

/// In each dimension.
struct BestThresholds {
  std::vector<double> errors, stored;
};

BestThresholds best_thresholds(StudyContext& context, const ExponentSettings& settings,
                               double alpha, double rho, const std::vector<int64_t>& dimensions) {
  const std::string part = fmt::format("α = {}, ρ = {}", alpha, rho);
  const auto found = context.part(part, 2 * dimensions.size(), [&] {
    const auto thresholds = parallel_runs(std::ssize(dimensions), [&](int64_t k) {
      return best_threshold(settings, alpha, rho, dimensions[k]);
    });
    std::vector<double> numbers;
    for (const BestThreshold& best : thresholds) numbers.push_back(best.error);
    for (const BestThreshold& best : thresholds) numbers.push_back(best.stored);
    return numbers;
  });
  const auto middle = found.begin() + std::ssize(dimensions);
  return {{found.begin(), middle}, {middle, found.end()}};
}

/// Where 2 rho alpha < 1 the memory is loaded with phi(N) = N^(1 - 2 rho alpha).
void add_load_chart(StudyContext& context, int32_t outputs) {
  constexpr double kAlpha = 1.5, kRho = 0.2;
  std::vector<ShownSeries> curves;
  for (const int exponent : {4, 6, 8}) {
    const double inputs = std::pow(10.0, exponent);
    const auto summary =
        summarise_zipf_memory(static_cast<int64_t>(inputs), outputs, kAlpha, {.rho = kRho});
    curves.push_back(
        {fmt::format("N = {:g} against d / φ(N)", inputs), "N = " + power_of_ten(exponent)});
    const double load = unthresholded_load(kAlpha, kRho, inputs);
    for (const int64_t dimension : log_spaced(100, 1'000'000, 9)) {
      const double at = static_cast<double>(dimension) / load;
      if (at < 1 || at > 1000) continue;
      context.results().add_point(
          {.series = curves.back().series, .x = at, .y = predicted_error(summary, dimension)});
    }
  }
  context.results().add_chart(
      "load",
      context.results().panel_of_points(
          fmt::format("Error at α = {:g}, ρ = {:g} against d / φ(N)", kAlpha, kRho),
          {"d / φ(N), φ(N) = N^(1-2ρα)", Scale::kLog}, kLogError, curves),
      "Proposition 2 where 2ρα < 1: the rare inputs fill the memory, d counts only divided by "
      "φ(N). The curves of all N follow one line until all inputs are stored, where a small N "
      "ends.");
}

}  // namespace

void proposition2(StudyContext& context) {
  const ExponentSettings settings = exponent_settings(context, {});
  const auto dimensions = log_spaced(1000, 100'000, 5);
  const auto d = as_doubles(dimensions);
  Table table("Exponent of d without a threshold",
              {"α", "ρ", "(13)", "expected error", fmt::format("simulated, {} runs", settings.runs),
               "standard error", "N of the simulation"});
  auto panels = std::make_unique<Panels>("Expected error of q = p^ρ");
  Progress progress(context.progress(), "Proposition 2", std::ssize(settings.alphas));
  for (const double alpha : settings.alphas) {
    const AssociationTask task = zipf_task(settings.simulated_inputs, settings.outputs, alpha);
    auto chart =
        std::make_unique<LineChart>(fmt::format("α = {:g}", alpha), kLogDimension, kLogError);
    for (const double rho : settings.rhos) {
      if (2 * rho * alpha <= 1) continue;  // the load phi(N) is drawn below
      const std::string name = fmt::format("α = {}, ρ = {}", alpha, rho);
      const auto summary =
          summarise_zipf_memory(settings.inputs, settings.outputs, alpha, {.rho = rho});
      std::vector<double> expected;
      for (const int64_t dimension : dimensions)
        expected.push_back(predicted_error(summary, dimension));
      const auto errors =
          simulated_errors(context, name, settings.runs, task, {.rho = rho}, dimensions);
      const double exponent = -unthresholded_exponent(alpha, rho);
      const double slope = exponent_of(d, expected);
      table.add_row({Cell(alpha), Cell(rho), Cell::fixed(exponent, 3), fixed_or_empty(slope, 3),
                     fixed_or_empty(exponent_of(d, means_of(errors)), 3),
                     fixed_or_empty(error_of_exponent(d, errors), 3), settings.simulated_inputs});
      context.results().compare({name + ": exponent of d", exponent, slope});
      add_curve(context.results(), name, d, errors);
      const std::string shown = fmt::format("ρ = {:g}", rho);
      chart->add(line_through(shown, d, expected));
      chart->add(rate_below(shown, d, expected.back(), exponent));
    }
    panels->add(std::move(chart));
    progress.advance();
  }
  context.results().add_table("numbers", std::move(table));
  context.results().add_chart(
      "exponents", std::move(panels),
      fmt::format("Proposition 2: where 2ρα > 1 the error falls as d^(-(α-1)/(2ρα)) (eq. 13): "
                  "dashed, a little below the curve of that ρ. N = {}.",
                  settings.inputs));
  add_load_chart(context, settings.outputs);
}

void proposition3(StudyContext& context) {
  const ExponentSettings settings =
      exponent_settings(context, {.rhos = {0, 0.25, 0.5, 1}, .unused = kOfSimulation});
  const auto dimensions = log_spaced(300, 30'000, 5);
  const auto d = as_doubles(dimensions);
  Table table("Exponents of d with the best threshold",
              {"α", "ρ", "error: (14), unconfirmed", "error: by (9)", "error: found",
               "P: (14), unconfirmed", "P: by (9)", "P: found"});
  auto panels = std::make_unique<Panels>("Expected error with the best threshold P");
  Progress progress(context.progress(), "Proposition 3", std::ssize(settings.alphas));
  for (const double alpha : settings.alphas) {
    std::vector<ShownSeries> curves;
    for (const double rho : settings.rhos) {
      const std::string name = fmt::format("α = {}, ρ = {}", alpha, rho);
      curves.push_back({name, fmt::format("ρ = {:g}", rho)});
      const auto [errors, stored] = best_thresholds(context, settings, alpha, rho, dimensions);
      const double recalled = 2 * rho * alpha + 1;
      const bool needs_none = 2 * rho * alpha > 1;  // the error hardly depends on P
      table.add_row({Cell(alpha), Cell(rho), Cell::fixed(-(alpha - 1) / recalled, 3),
                     Cell::fixed(-thresholded_exponent(alpha, rho), 3),
                     fixed_or_empty(exponent_of(d, errors), 3), Cell::fixed(1 / recalled, 3),
                     needs_none ? Cell() : Cell::fixed(1.0, 3),
                     needs_none ? Cell() : Cell::fixed(log_log_slope(d, stored), 3)});
      add_values(context.results(), name, d, errors);
    }
    auto chart = context.results().panel_of_points(fmt::format("α = {:g}", alpha), kLogDimension,
                                                   kLogError, curves);
    chart->add(reference_line(fmt::format("slope {:g}", 1 - alpha), d,
                              std::pow(d.front(), alpha - 1) * 0.1 * std::pow(10, -alpha),
                              1 - alpha));
    panels->add(std::move(chart));
    progress.advance();
  }
  context.results().add_table("numbers", std::move(table));
  context.results().add_chart(
      "exponents", std::move(panels),
      "Proposition 3: q = p^ρ on the P most frequent inputs, with the P that errs least. At ρ = 0 "
      "the error follows d^(-(α-1)), dashed, up to the logarithm in P = d / log d. Where 2ρα > 1 "
      "hardly anything is gained by a threshold, so no exponent of P is given.");
  context.results().add_difference(
      "For ρ > 0 (14) is from memory, with an exponent 2ρα + 1 that we could not check against the "
      "paper; balancing the two terms of (9) gives max(1, 2ρα). Both agree at ρ = 0, which the "
      "paper recommends.");
}

namespace {

/// Expected errors in one dimension: of the best threshold of equal weights, then of each rho
/// without a threshold.
std::vector<double> errors_of_schemes(StudyContext& context, const ExponentSettings& settings,
                                      double alpha, int64_t d) {
  const std::string part = fmt::format("α = {}, d = {}", alpha, d);
  return context.part(part, 1 + settings.rhos.size(), [&] {
    const RankedLaw law = RankedLaw::zipf(settings.inputs, alpha);
    std::vector<double> errors = {best_memory(law, settings.outputs, d, kAllData).error};
    for (const double rho : settings.rhos)
      errors.push_back(predicted_error(
          summarise_zipf_memory(settings.inputs, settings.outputs, alpha, {.rho = rho}), d));
    return errors;
  });
}

/// Theorem 2 at one alpha: rows of the table, and a picture.
void compare_with_bound(StudyContext& context, const ExponentSettings& settings, double alpha,
                        const std::string& picture, Table& table) {
  const auto dimensions = log_spaced(10, 10'000, 7);
  const auto d = as_doubles(dimensions);
  std::vector<double> bounds, thresholded;
  std::vector<std::vector<double>> unthresholded(settings.rhos.size());
  for (const int64_t dimension : dimensions) {
    const auto errors = errors_of_schemes(context, settings, alpha, dimension);
    bounds.push_back(minimax_lower_bound(alpha, dimension, 1.0 / settings.outputs));
    thresholded.push_back(errors.front());
    for (size_t r = 0; r < settings.rhos.size(); ++r) unthresholded[r].push_back(errors[r + 1]);
    const size_t least = place_of_least(errors);
    table.add_row({Cell(alpha), dimension, Cell::significant(bounds.back(), 3),
                   Cell::significant(thresholded.back(), 3),
                   Cell::significant(thresholded.back() / bounds.back(), 3),
                   Cell::significant(errors[least], 3),
                   Cell(least == 0 ? 0.0 : settings.rhos[least - 1])});
  }
  add_values(context.results(), fmt::format("best threshold, α = {}", alpha), d, thresholded);
  auto chart = std::make_unique<LineChart>(fmt::format("Expected error, α = {:g}", alpha),
                                           kLogDimension, kLogError);
  chart->add(line_through("lower bound", d, bounds, SeriesStyle::kReference));
  chart->add(line_through("best threshold, ρ = 0", d, thresholded));
  for (size_t r = 0; r < settings.rhos.size(); ++r)
    chart->add(
        line_through(fmt::format("all stored, ρ = {:g}", settings.rhos[r]), d, unthresholded[r]));
  context.results().add_chart(
      picture, std::move(chart),
      "Theorem 2: with random embeddings no choice of q errs less than the dashed line, which "
      "falls as d^(-(α-1)); the d / log d most frequent inputs stored equally follow it up to a "
      "logarithm and the proof's constants.");
}

}  // namespace

void theorem2(StudyContext& context) {
  const ExponentSettings settings =
      exponent_settings(context, {.alphas = {2}, .rhos = {0, 0.5, 1}, .unused = kOfSimulation});
  Table table("The best error over the bound that no q can beat",
              {"α", "d", "lower bound", "best threshold of equal weights", "ratio",
               "least of the schemes", "its ρ"});
  Progress progress(context.progress(), "Theorem 2", std::ssize(settings.alphas));
  for (size_t i = 0; i < settings.alphas.size(); ++i) {
    compare_with_bound(context, settings, settings.alphas[i], fmt::format("minimax-{}", i + 1),
                       table);
    progress.advance();
  }
  context.results().add_table("numbers", std::move(table));
}

}  // namespace tessera::scaling_laws
