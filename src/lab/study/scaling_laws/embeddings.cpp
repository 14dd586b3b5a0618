// Beyond random embeddings and equal outputs: Lemma 1, model (23), Proposition 5, equation (3) and
// footnote 2.

#include <cmath>
#include <functional>
#include <numeric>

#include "lab/study/scaling_laws/studies.h"
#include "lab/theory/simulated_errors.h"
#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/plan/association_task.h"
#include "tessera/plan/planner.h"
#include "tessera/plan/population_error.h"

namespace tessera::scaling_laws {
namespace {

using namespace theory;

struct QuasiOrthogonalSettings {
  int64_t runs = 40;
  int64_t most = 4096;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("runs", runs, "families of random vectors", config::at_least(1));
    field("most", most, "maximum number of vectors in one family", config::between(6, 65536));
  }
};

/// How many of these directions, taken in order, are eta-quasi-orthogonal; all, where no pair is
/// closer.
int64_t first_close_pair(std::span<const float> directions, int64_t count, int64_t d, double eta) {
  for (int64_t z = 1; z < count; ++z)
    for (int64_t earlier = 0; earlier < z; ++earlier) {
      const float* a = directions.data() + z * d;
      const float* b = directions.data() + earlier * d;
      if (std::abs(std::inner_product(a, a + d, b, 0.0f)) > eta) return z;
    }
  return count;
}

/// Inputs whose outputs follow a Zipf law: output y has `each` inputs, which share its mass.
AssociationTask zipf_outputs(int32_t outputs, int64_t each, double exponent) {
  const AssociationTask by_output = zipf_task(outputs, outputs, exponent);
  AssociationTask task{.law = {}, .output = {}, .outputs = outputs};
  for (int32_t y = 0; y < outputs; ++y)
    for (int64_t i = 0; i < each; ++i) {
      task.law.push_back(by_output.law[y] / static_cast<double>(each));
      task.output.push_back(y);
    }
  return task;
}

/// The error of W that stores the first inputs equally.
double threshold_error(const AssociationTask& task, int64_t stored, int64_t d, uint64_t seed) {
  const std::vector<SimulatedMemory> memory = {
      {scheme_weights({.rho = 0, .stored = stored}, task.law), {d}}};
  return population_errors(task, memory, seed)[0][0];
}

/// Errors of W with the threshold that errs least in each dimension.
std::vector<Spread> best_linear_errors(StudyContext& context, const Settings& settings,
                                       const AssociationTask& task,
                                       const std::vector<int64_t>& dimensions) {
  const RankedLaw law = RankedLaw::zipf(settings.inputs, settings.alpha);
  std::vector<Spread> errors;
  for (const int64_t dimension : dimensions) {
    const int64_t stored = best_memory(law, settings.outputs, dimension, kAllData).stored;
    errors.push_back(measured_number(
        context, fmt::format("W, d = {}", dimension), settings.runs,
        [&](uint64_t seed) { return threshold_error(task, stored, dimension, seed); }));
  }
  return errors;
}

/// The error of a memory that stores the inputs of so many outputs.
using ErrorOfCount = std::function<double(int64_t outputs, uint64_t seed)>;

/// The number of outputs that errs least when it is stored, and its error.
struct BestCount {
  int64_t outputs;
  Spread error;
};

BestCount best_count(StudyContext& context, const std::string& part, int64_t runs,
                     const std::vector<int64_t>& counts, const ErrorOfCount& error_of_count) {
  const auto trials = trial_means(context, part, runs, counts.size(), [&](uint64_t seed) {
    std::vector<double> errors;
    for (const int64_t outputs : counts) errors.push_back(error_of_count(outputs, seed));
    return errors;
  });
  const int64_t best = counts[place_of_least(trials)];
  return {best, measured_number(context, part, runs,
                                [&](uint64_t seed) { return error_of_count(best, seed); })};
}

/// Where the inputs of an output share their embedding.
BestCount best_learned(StudyContext& context, int64_t runs, const AssociationTask& task,
                       const std::vector<int64_t>& counts, int64_t d) {
  return best_count(context, fmt::format("learned, d = {}", d), runs, counts,
                    [&](int64_t stored, uint64_t seed) {
                      return merged_embeddings_error(task, static_cast<int32_t>(stored), d, seed);
                    });
}

/// Of W with random embeddings.
BestCount best_random(StudyContext& context, int64_t runs, const AssociationTask& task,
                      const std::vector<int64_t>& counts, int64_t d) {
  return best_count(context, fmt::format("random, d = {}", d), runs, counts,
                    [&](int64_t stored, uint64_t seed) {
                      const int64_t inputs = stored * task.inputs() / task.outputs;
                      return threshold_error(task, inputs, d, seed);
                    });
}

}  // namespace

void lemma1(StudyContext& context) {
  const QuasiOrthogonalSettings quick{.runs = 8, .most = 1024};
  const QuasiOrthogonalSettings settings =
      context.settings(quick, QuasiOrthogonalSettings(), kNoSetting);
  const std::vector<int64_t> dimensions = {16, 32, 64, 128, 256};
  Table table("Vectors that are η-quasi-orthogonal",
              {"η", "d", "exp(dη²/4), Lemma 1", "random vectors before the first closer pair",
               "standard error"});
  std::vector<std::string> drawn;
  std::vector<Series> guaranteed;
  Progress progress(context.progress(), "Lemma 1", 3);
  for (const double eta : {0.2, 0.3, 0.5}) {
    drawn.push_back(fmt::format("η = {:g}", eta));
    std::vector<double> d, counts;
    std::vector<Spread> found;
    for (const int64_t dimension : dimensions) {
      const double count = quasi_orthogonal_count(dimension, eta);
      if (2 * count > static_cast<double>(settings.most)) break;  // more than are drawn
      found.push_back(measured_number(
          context, fmt::format("η = {:g}, d = {}", eta, dimension), settings.runs,
          [&](uint64_t seed) {
            const auto u = random_directions(settings.most, dimension, seed);
            return static_cast<double>(first_close_pair(u, settings.most, dimension, eta));
          }));
      d.push_back(static_cast<double>(dimension));
      counts.push_back(count);
      table.add_row({Cell(eta), dimension, Cell::significant(count, 3), mean_cell(found.back()),
                     error_cell(found.back())});
    }
    add_curve(context.results(), drawn.back(), d, found);
    guaranteed.push_back(line_through("exp(dη²/4), " + drawn.back(), d, counts,
                                      SeriesStyle::kReference, drawn.back()));
    progress.advance();
  }
  context.results().add_table("numbers", std::move(table));
  auto chart = context.results().chart_of_points("Vectors without a pair closer than η",
                                                 kLogDimension, {"vectors", Scale::kLog}, drawn);
  for (Series& line : guaranteed) chart->add(std::move(line));
  context.results().add_chart(
      "counts", std::move(chart),
      fmt::format("Definition 1 (22) and Lemma 1 (29): families of exp(dη²/4) unit vectors whose "
                  "products stay within η exist (dashed). Random vectors, drawn one after the "
                  "other, go on for longer. {} are drawn at most, so the highest points are too "
                  "low.",
                  settings.most));
}

void rectified_lookup(StudyContext& context) {
  const Settings settings = settings_of(context, {.runs = 10, .inputs = 1000}, kNoSetting);
  const AssociationTask task = task_of(settings);
  const std::vector<int64_t> dimensions = {10, 20, 40, 80, 160, 320};
  const auto d = as_doubles(dimensions);
  Progress progress(context.progress(), "Equation (23)", 4);
  std::vector<std::string> names = {"W (4), best P"};
  const auto linear = best_linear_errors(context, settings, task, dimensions);
  add_curve(context.results(), names.front(), d, linear);
  progress.advance();
  std::vector<Series> rates;
  for (const double eta : {0.0, 0.3, 0.5}) {
    const auto errors =
        measured_each(context, fmt::format("η = {:g}", eta), settings.runs, dimensions,
                      [&](int64_t dimension, uint64_t seed) {
                        return rectified_lookup_error(task, settings.inputs, dimension, eta, seed);
                      });
    names.push_back(fmt::format("(23), η = {:g}", eta));
    add_curve(context.results(), names.back(), d, errors);
    if (eta > 0) {
      std::vector<double> rate;
      for (const double at : d)
        rate.push_back(std::exp(-(settings.alpha - 1) * eta * eta * at / 4));
      rates.push_back(line_through(fmt::format("exp(-(α-1)η²d/4), η = {:g}", eta), d, rate,
                                   SeriesStyle::kReference, names.back()));
    }
    progress.advance();
  }
  Table table("Error of a rectified lookup",
              {"memory", "d", "numbers stored", "error", "standard error"});
  for (const ResultPoint& point : context.results().points()) {
    const bool is_matrix = point.series == names.front();
    table.add_row(
        {point.series, static_cast<int64_t>(point.x),
         static_cast<int64_t>(point.x * (is_matrix ? point.x : settings.inputs)),
         Cell::significant(point.y, 3),
         std::isnan(point.standard_error) ? Cell() : Cell::significant(point.standard_error, 2)});
  }
  context.results().add_table("numbers", std::move(table));
  auto chart = context.results().chart_of_points("Error of a rectified lookup", kLogDimension,
                                                 {kErrorLabel, Scale::kLog, 1e-6, 1}, names);
  for (Series& rate : rates) chart->add(std::move(rate));
  context.results().add_chart(
      "errors", std::move(chart),
      fmt::format(
          "Model (23) keeps all {} inputs and adds up only those whose product with the "
          "input exceeds η: once hardly a pair of inputs is closer than η its error falls "
          "exponentially in d, in the end faster than the dashed rate, where a d × d matrix "
          "follows a power of d. The price: {} × d numbers and as many products for each answer.",
          settings.inputs, settings.inputs));
  context.results().add_difference(
      "All inputs are stored; the paper stores exp(η²d/4) of them, whose tail gives the dashed "
      "rate.");
}

void proposition5(StudyContext& context) {
  const Settings settings =
      settings_of(context, {.runs = 20, .inputs = 8192, .outputs = 2048, .alpha = 1.5}, kNoSetting);
  if (settings.inputs % settings.outputs != 0)
    throw UsageError(
        "inputs = {}, outputs = {}; expected a multiple of outputs, so that each has "
        "equally many",
        settings.inputs, settings.outputs);
  const AssociationTask task =
      zipf_outputs(settings.outputs, settings.inputs / settings.outputs, settings.alpha);
  const std::vector<int64_t> dimensions = {2, 3, 4, 6, 8, 12};
  const auto d = as_doubles(dimensions);
  const auto counts = log_spaced(1, settings.outputs, 12);
  Table table("Stored outputs and error",
              {"d", "best P of outputs", "learned: error", "learned: standard error",
               "p(f(x) > P) (49)", "random e: error", "random e: standard error"});
  std::vector<Spread> learned, fixed;
  Progress progress(context.progress(), "Proposition 5", std::ssize(dimensions));
  for (const int64_t dimension : dimensions) {
    const auto [stored, error] = best_learned(context, settings.runs, task, counts, dimension);
    learned.push_back(error);
    fixed.push_back(best_random(context, settings.runs, task, counts, dimension).error);
    table.add_row({dimension, stored, mean_cell(learned.back()), error_cell(learned.back()),
                   Cell::significant(unstored_output_mass(task, static_cast<int32_t>(stored)), 3),
                   mean_cell(fixed.back()), error_cell(fixed.back())});
    progress.advance();
  }
  add_curve(context.results(), "e_x = u_f(x)", d, learned);
  add_curve(context.results(), "random e", d, fixed);
  context.results().add_table("numbers", std::move(table));
  context.results().add_chart(
      "errors",
      context.results().chart_of_points("Learned and random input embeddings", kLogDimension,
                                        {kErrorLabel, Scale::kLog, 1e-5, 1},
                                        {"e_x = u_f(x)", "random e"}),
      fmt::format(
          "Proposition 5: where inputs of one output share an embedding, the memory holds "
          "outputs instead of inputs, exponentially many in d (49). {} inputs with {} "
          "outputs, p(y) ~ y^-{:g}; the number stored is the best for each d, by other runs.",
          settings.inputs, settings.outputs, settings.alpha));
}

namespace {

constexpr double kOutputExponent = 1;

/// Inputs with a Zipf law; outputs of different frequency, the first of M the most frequent.
AssociationTask drawn_outputs(const Settings& settings, uint64_t seed) {
  AssociationTask task = task_of(settings);
  RandomStream random(seed, kSampleStream);
  const AliasTable classes(zipf_task(task.outputs, 1, kOutputExponent).law);
  for (int32_t& y : task.output) y = classes.draw(random);
  return task;
}

/// The errors, dimension by dimension, of the memory that errs least there.
std::vector<Spread> least_errors(StudyContext& context, const std::string& part, int64_t runs,
                                 const AssociationTask& task,
                                 const std::vector<std::vector<float>>& candidates,
                                 const std::vector<int64_t>& dimensions) {
  const auto errors_of = [&](const std::vector<SimulatedMemory>& memories, uint64_t seed) {
    return flat(population_errors(task, memories, seed));
  };
  std::vector<SimulatedMemory> all, best;
  for (const auto& weights : candidates) all.push_back({weights, dimensions});
  const auto trials = trial_means(context, part, runs, all.size() * dimensions.size(),
                                  [&](uint64_t seed) { return errors_of(all, seed); });
  for (size_t k = 0; k < dimensions.size(); ++k) {
    std::vector<double> in_dimension;
    for (size_t place = k; place < trials.size(); place += dimensions.size())
      in_dimension.push_back(trials[place]);
    best.push_back({candidates[place_of_least(in_dimension)], {dimensions[k]}});
  }
  return measured(context, part, runs, best.size(),
                  [&](uint64_t seed) { return errors_of(best, seed); });
}

/// Weights that equation (12) and footnote 2 choose between.
struct Candidates {
  std::vector<std::vector<float>> first;   ///< the first P inputs, for several P
  std::vector<std::vector<float>> capped;  ///< of each of them at most so many of an output
};

Candidates candidates_of(const AssociationTask& task, int64_t fewest_stored) {
  Candidates all;
  for (const int64_t stored : log_spaced(fewest_stored, task.inputs(), 12)) {
    all.first.push_back(scheme_weights({.rho = 0, .stored = stored}, task.law));
    for (const int64_t most : log_spaced(1, task.inputs(), 8)) {
      auto& weights = all.capped.emplace_back(capped_weights(task, most));
      for (size_t x = 0; x < weights.size(); ++x) weights[x] *= all.first.back()[x];
    }
  }
  return all;
}

}  // namespace

void general_weights(StudyContext& context) {
  const Settings settings =
      settings_of(context, {.runs = 40, .inputs = 2000, .outputs = 50, .alpha = 1.2}, kNoSetting);
  constexpr int64_t kFewestStored = 10;
  if (settings.inputs < kFewestStored)
    throw UsageError("inputs is {}, expected {} or more: so many are stored at least",
                     settings.inputs, kFewestStored);
  const AssociationTask task = drawn_outputs(settings, context.seed());
  const auto dimensions = log_spaced(settings.outputs, int64_t{20} * settings.outputs, 6);
  const auto d = as_doubles(dimensions);
  const Candidates candidates = candidates_of(task, kFewestStored);
  Progress progress(context.progress(), "Equation (3)", 5);
  Table table("Error where few outputs have most of the inputs",
              {"stored", "d", "error", "standard error"});
  std::vector<std::string> names;
  const auto add = [&](const std::string& name, const std::vector<Spread>& errors) {
    add_curve(context.results(), name, d, errors);
    names.push_back(name);
    for (size_t k = 0; k < d.size(); ++k)
      table.add_row({name, dimensions[k], mean_cell(errors[k]), error_cell(errors[k])});
    progress.advance();
  };
  const auto add_weights = [&](const std::string& name, OutputWeights weights) {
    add(name, measured_each(context, name, settings.runs, dimensions,
                            [&](int64_t dimension, uint64_t seed) {
                              return general_weights_error(task, weights, dimension, seed);
                            }));
  };
  const auto add_best = [&](const std::string& name, const std::vector<std::vector<float>>& of) {
    add(name, least_errors(context, name, settings.runs, task, of, dimensions));
  };
  add_weights("all stored (4)", OutputWeights::kPlain);
  add_best("the best P of all (12)", candidates.first);
  add_best("best P, capped per output", candidates.capped);
  add_weights("all, less the mean output (3)", OutputWeights::kCentred);
  add_weights("all, dual outputs (3)", OutputWeights::kDual);
  context.results().add_table("numbers", std::move(table));
  context.results().add_chart(
      "errors",
      context.results().chart_of_points("Weights that depend on the output", kLogDimension,
                                        kLogError, names),
      fmt::format(
          "{} inputs with a Zipf({:g}) law; how many of them have which of the {} outputs follows "
          "Zipf({:g}). Footnote 2: of the best P inputs at most so many of each output are stored "
          "that the energies Q_y = Σ q² of the outputs do not differ. Equation (3): weights also "
          "for wrong outputs, such that the mean output is taken out, or such that no output "
          "answers for another (the dual basis of u, which needs M <= d). What is best is chosen "
          "by other runs than those shown.",
          settings.inputs, settings.alpha, settings.outputs, kOutputExponent));
}

}  // namespace tessera::scaling_laws
