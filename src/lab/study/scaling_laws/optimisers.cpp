// Figures 8, 9, 12, 15 and 16: optimisers, layer norm, and learned embeddings.

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "lab/study/scaling_laws/studies.h"
#include "lab/theory/descent.h"
#include "tessera/base/consecutive.h"
#include "tessera/base/progress.h"
#include "tessera/plan/population_error.h"
#include "tessera/report/panels.h"

namespace tessera::scaling_laws {
namespace {

using namespace theory;

constexpr double kUnknown = ResultPoint::kNone;

/// A way of training W from random entries.
struct Training {
  std::string_view name;
  UpdateRule rule = UpdateRule::kGradient;
  double step_size = 1;
  int64_t batch = 64;
  int64_t samples = 10240;
  bool layer_norm = false;
  bool learn_embeddings = false;
  std::array<double, 7> published = {};  ///< the authors' means at the usual dimensions
};

/// Figure 8, panel by panel.
constexpr Training kStepSizes[] = {
    {.name = "SGD γ = 0.1",
     .step_size = .1,
     .published = {.168, .146, .078, .071, .062, .049, .046}},
    {.name = "SGD γ = 1", .published = {.064, .055, .043, .031, .028, .020, .018}},
    {.name = "SGD γ = 10",
     .step_size = 10,
     .published = {.040, .028, .016, .0124, .0097, .0066, .0051}},
    {.name = "SGD γ = 100",
     .step_size = 100,
     .published = {.031, .014, .0071, .0047, .0031, .0025, .0017}}};
constexpr Training kBatchSizes[] = {{.name = "Adam B = 16 γ = 1",
                                     .rule = UpdateRule::kSign,
                                     .batch = 16,
                                     .samples = 1024,
                                     .published = {.059, .047, .035, .026, .020, .019, .017}},
                                    {.name = "Adam B = 1024 γ = 10",
                                     .rule = UpdateRule::kSign,
                                     .step_size = 10,
                                     .batch = 1024,
                                     .samples = 1024,
                                     .published = {.181, .149, .109, .095, .078, .063, .054}},
                                    {.name = "SGD B = 256 γ = 100",
                                     .step_size = 100,
                                     .batch = 256,
                                     .published = {.032, .022, .0142, .0117, .0086, .0064, .0048}},
                                    {.name = "Adam B = 256 γ = 10",
                                     .rule = UpdateRule::kSign,
                                     .step_size = 10,
                                     .batch = 256,
                                     .published = {.036, .016, .0062, .0035, .0019, .0017, .0013}}};
constexpr Training kLayerNorm[] = {
    {.name = "SGD B = 1024",
     .batch = 1024,
     .published = {.203, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown, .048}},
    {.name = "SGD + LN B = 1024",
     .batch = 1024,
     .layer_norm = true,
     .published = {.144, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown, .043}},
    {.name = "Adam B = 1024",
     .rule = UpdateRule::kSign,
     .batch = 1024,
     .published = {.098, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown, .028}},
    {.name = "Adam + LN B = 1024",
     .rule = UpdateRule::kSign,
     .batch = 1024,
     .layer_norm = true,
     .published = {.082, .060, .041, .026, .024, .016, .014}}};
/// Figure 12.
constexpr Training kLearnedParts[] = {
    {.name = "learning W", .batch = 16, .published = {.053, .037, .021, .0185, .0155, .011, .009}},
    {.name = "learning e, u and W",
     .batch = 16,
     .learn_embeddings = true,
     .published = {.0020, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown, .0012}}};

/// Plain descent on W alone runs on the scores, everything else on the matrices.
double trained_error(const AssociationTask& task, const Training& how, int64_t dimension,
                     uint64_t seed) {
  auto model = random_model(task, dimension, OutputScale::kGaussian, seed);
  model.memory = random_memory(dimension, seed);
  Samples samples(task, seed);
  const int64_t steps = how.samples / how.batch;
  if (how.rule == UpdateRule::kGradient && !how.layer_norm && !how.learn_embeddings) {
    ScoreDescent descent(task, model);
    for (int64_t t = 0; t < steps; ++t) descent.step(samples.batch(how.batch), how.step_size);
    return descent.error();
  }
  DescentStep step =
      width_independent_step(how.rule, how.step_size, dimension, how.learn_embeddings);
  step.layer_norm = how.layer_norm;
  for (int64_t t = 0; t < steps; ++t) descend(task, samples.batch(how.batch), step, model);
  // Layer norm divides the scores of an input by one number, which changes no answer.
  return population_error_of_scores(task, model_scores(task, model));
}

/// Where figures 8 and 12 are drawn: --quick leaves out the two that take longest.
std::vector<int64_t> trained_dimensions(const StudyContext& context) {
  std::vector<int64_t> dimensions = kUsualDimensions;
  if (context.size() == StudySize::kQuick) dimensions.resize(dimensions.size() - 2);
  return dimensions;
}

/// Adds the curve and compares it with the authors' means.
void add_training(StudyContext& context, const AssociationTask& task, int64_t runs,
                  const Training& how, Progress& progress) {
  const std::vector<int64_t> dimensions = trained_dimensions(context);
  std::vector<Spread> spreads;
  for (const int64_t d : dimensions) {
    spreads.push_back(
        measured_number(context, fmt::format("{}, d = {}", how.name, d), runs,
                        [&](uint64_t seed) { return trained_error(task, how, d, seed); }));
    progress.advance();
  }
  add_curve(context.results(), std::string(how.name), as_doubles(dimensions), spreads,
            how.published);
  for (size_t k = 0; k < dimensions.size(); ++k) {
    const std::string error = runs > 1 ? fmt::format(" (ours ± {:.2g})", error_of(spreads[k])) : "";
    context.results().compare({fmt::format("{}, d = {}{}", how.name, dimensions[k], error),
                               how.published[k], spreads[k].mean});
  }
}

std::vector<std::string> names_of(std::span<const Training> trainings) {
  std::vector<std::string> names;
  for (const Training& how : trainings) names.emplace_back(how.name);
  return names;
}

}  // namespace

void optimisers(StudyContext& context) {
  const Settings settings = settings_of(context, {.runs = 10});
  const AssociationTask task = task_of(settings);
  struct Panel {
    const char* title;
    std::span<const Training> trainings;
  };
  const Panel panels[] = {{"Step size (SGD, B = 64)", kStepSizes},
                          {"Batch size and Adam", kBatchSizes},
                          {"Layer norm (B = 1024)", kLayerNorm}};
  auto picture = std::make_unique<Panels>("Error after training W");
  Progress progress(context.progress(), "Figure 8", 12 * std::ssize(trained_dimensions(context)));
  for (const Panel& panel : panels) {
    for (const Training& how : panel.trainings)
      add_training(context, task, settings.runs, how, progress);
    picture->add(context.results().chart_of_points(panel.title, kLogDimension, kLogError,
                                                   names_of(panel.trainings)));
  }
  context.results().add_chart(
      "errors", std::move(picture),
      "Cross entropy (eq. 16) minimised in batches of B (eq. 18). First, T = 10240: larger "
      "steps err less, as eq. 20 predicts. Second, T = 1024 in batches of 16 and 1024, 10240 in "
      "those of 256: many small batches learn more from the same data, and so does Adam. Third, T "
      "= 10240, γ = 1: layer norm (eq. 21) helps both, Adam more. Hollow: the means of the "
      "authors' logs. Bands: half a standard deviation.");
  context.results().add_difference(
      "Published values are the means of the authors' logs; ± is the standard error of ours. Their "
      "Adam has both betas at 0, which is the sign rule. Where they tuned the step size per seed "
      "(B = 256), ours is fixed: 100 for SGD, 10 for Adam.");
}

void learned_embeddings_error(StudyContext& context) {
  const Settings settings = settings_of(context, {.runs = 10});
  const AssociationTask task = task_of(settings);
  Progress progress(context.progress(), "Figure 12", 2 * std::ssize(trained_dimensions(context)));
  for (const Training& how : kLearnedParts)
    add_training(context, task, settings.runs, how, progress);
  context.results().add_chart(
      "dimension",
      context.results().chart_of_points("Error after training", kLogDimension, kLogError,
                                        names_of(kLearnedParts)),
      "SGD in batches of 16 (eq. 18), T = 10240. With W alone the error falls with d as the theory "
      "of fixed embeddings predicts (Theorem 2); where e and u are learned, too, it hardly "
      "depends on d (section 4.2, eq. 24). Hollow: the authors' means. Bands: half a standard "
      "deviation.");
  context.results().add_difference(
      "Published values are the authors' means; ± is the standard error of ours. The error against "
      "M in two dimensions is part of scaling-laws/fig9, with a fresh model for every run.");
}

namespace {

/// e, u and W learned together by Adam in two dimensions.
AssociativeModel<float> learned_in_the_plane(const AssociationTask& task, double step_size,
                                             int64_t steps, uint64_t seed) {
  auto model = random_model(task, 2, OutputScale::kGaussian, seed);
  model.memory = random_memory(2, seed);
  for (float& w : model.memory) w *= std::sqrt(2.0f);  // W ~ N(0, 1), unscaled
  AdamDescent adam({.memory = step_size, .inputs = step_size, .outputs = step_size});
  Samples samples(task, seed);
  for (int64_t t = 0; t < steps; ++t) adam.descend(task, samples.batch(1000), model);
  return model;
}

/// Figure 9: the inputs of each class and, hollow, its output in a colour of their own, and where W
/// takes the unit vectors.
std::unique_ptr<LineChart> plane_chart(const AssociationTask& task,
                                       const AssociativeModel<float>& model) {
  auto chart = std::make_unique<LineChart>(fmt::format("M = {}", task.outputs),
                                           Axis{"first coordinate"}, Axis{"second coordinate"});
  for (int32_t y = 0; y < task.outputs; ++y) {
    Series inputs{fmt::format("y = {}", y), {}, SeriesStyle::kPoints};
    for (int64_t x = 0; x < task.inputs(); ++x)
      if (task.output[x] == y)
        inputs.points.push_back({model.inputs[2 * x], model.inputs[2 * x + 1]});
    Series output{
        inputs.name, {{model.outputs[2 * y], model.outputs[2 * y + 1]}}, SeriesStyle::kHollow};
    output.is = "outputs u";
    chart->add(std::move(inputs));
    chart->add(std::move(output));
  }
  // W as the images of the unit vectors.
  for (int j = 0; j < 2; ++j)
    chart->add({j == 0 ? "W (1, 0)" : "W (0, 1)",
                {{0, 0}, {model.memory[j], model.memory[2 + j]}},
                SeriesStyle::kReference});
  return chart;
}

}  // namespace

void learned_embeddings(StudyContext& context) {
  const Settings settings = settings_of(context, {.runs = 10, .unused = {"outputs"}});
  StudyResults& results = context.results();
  Progress progress(context.progress(), "Figure 9", 2 + 5);
  auto planes = std::make_unique<Panels>("Learned in two dimensions");
  for (const int32_t outputs : {5, 10}) {
    const AssociationTask task = zipf_task(settings.inputs, outputs, settings.alpha);
    const auto model = learned_in_the_plane(task, 1e-3, 10000, context.seed());
    planes->add(plane_chart(task, model));
    results.compare({fmt::format("error in two dimensions, M = {}", outputs), 0,
                     population_error_of_scores(task, model_scores(task, model))});
    progress.advance();
  }
  results.add_chart(
      "planes", std::move(planes),
      "Inputs e in the colour of their output, the outputs u (hollow), and W as the images of the "
      "unit vectors (dashed), after 10,000 steps of Adam with γ = 0.001. All inputs of an output "
      "come to lie in one direction, which W turns to its u: so two dimensions are enough "
      "(eq. 24).");
  ReferenceTable reference(context);
  std::vector<double> M, expected = {0, 0, 0, .009, .021};
  std::vector<Spread> errors;
  for (const int32_t outputs : {5, 10, 20, 30, 50}) {
    const AssociationTask task = zipf_task(settings.inputs, outputs, settings.alpha);
    M.push_back(outputs);
    errors.push_back(
        measured_number(context, fmt::format("M = {}", outputs), settings.runs, [&](uint64_t seed) {
          const auto model = learned_in_the_plane(task, 0.1, 1000, seed);
          return population_error_of_scores(task, model_scores(task, model));
        }));
    progress.advance();
  }
  add_curve(results, "γ = 0.1, 1000 steps", M, errors);
  reference.add_curve("γ = 0.1, 1000 steps, M", M, expected, errors);
  reference.finish(results);
  results.add_chart("outputs",
                    results.chart_of_points("Error against the number of outputs, d = 2",
                                            {"outputs M"}, {kErrorLabel}),
                    "Any number of different unit outputs can be told apart in two dimensions "
                    "(eq. 24); what is left is what the optimisation does not find. Bands: half a "
                    "standard deviation.");
  results.add_difference(
      "Adam with its usual betas (0.9 and 0.999): with both at 0 the steps are too rough to settle "
      "in two dimensions.");
}

namespace {

struct PopulationRule {
  std::string name;
  UpdateRule rule;
  double step_size;
};

const PopulationRule kPopulationRules[] = {{"SGD", UpdateRule::kGradient, 1},
                                           {"sign", UpdateRule::kSign, 1},
                                           {"rescaled", UpdateRule::kRescaled, 1},
                                           {"SGD, step 10", UpdateRule::kGradient, 10}};

constexpr int64_t kPopulationDimension = 10;

constexpr int64_t kEpochs = 100;

/// Epoch by epoch: the errors, and the deviations of the gradient before them.
struct PopulationDescent {
  std::vector<Spread> errors, deviations;
};

PopulationDescent descend_on_population(StudyContext& context, const Settings& settings,
                                        const PopulationRule& how) {
  const AssociationTask task = task_of(settings);
  const WeightedBatch population = population_batch(task);
  const auto curves = measured(context, how.name, settings.runs, 2 * kEpochs, [&](uint64_t seed) {
    auto model = random_model(task, kPopulationDimension, OutputScale::kUnit, seed);
    std::vector<double> errors, deviations;
    for (int64_t t = 0; t < kEpochs; ++t) {
      deviations.push_back(entry_deviation(model_gradient(task, model, population, {}).memory));
      descend(task, population, {.rule = how.rule, .memory = how.step_size}, model);
      errors.push_back(population_error_of_scores(task, model_scores(task, model)));
    }
    errors.insert(errors.end(), deviations.begin(), deviations.end());
    return errors;
  });
  const auto middle = curves.begin() + kEpochs;
  return {{curves.begin(), middle}, {middle, curves.end()}};
}

}  // namespace

void rescaled_gradients(StudyContext& context) {
  const Settings settings = settings_of(context, {.runs = 100, .inputs = 10});
  const double expected[4][4] = {
      {.183, .150, .120, .042},
      {.155, .041, .0075, .0006},
      {.183, .036, .0047, 0},
      {ResultPoint::kNone, ResultPoint::kNone, ResultPoint::kNone, .0045}};
  const auto epochs = consecutive<double>(kEpochs, 1);
  ReferenceTable reference(context);
  std::vector<std::string> error_names;
  std::vector<ShownSeries> deviation_names;
  for (size_t k = 0; k < std::size(kPopulationRules); ++k) {
    const PopulationRule& how = kPopulationRules[k];
    const auto [errors, deviations] = descend_on_population(context, settings, how);
    error_names.push_back(how.name);
    deviation_names.push_back({how.name + ", gradient deviation", how.name});
    add_curve(context.results(), error_names.back(), epochs, errors);
    add_curve(context.results(), deviation_names.back().series, epochs, deviations);
    const int64_t shown[] = {1, 4, 11, 100};
    for (size_t j = 0; j < 4; ++j)
      reference.add(fmt::format("{}, epoch {}", how.name, shown[j]), expected[k][j],
                    errors[shown[j] - 1]);
    if (k == 0) {
      reference.add("SGD, gradient deviation, first epoch", .057, deviations.front());
      reference.add("SGD, gradient deviation, last epoch", .0032, deviations.back());
    }
  }
  reference.finish(context.results());
  auto panels = std::make_unique<Panels>("Descent on the population loss");
  panels->add(context.results().chart_of_points("Error", {"epoch", Scale::kLog}, {kErrorLabel},
                                                error_names));
  panels->add(context.results().panel_of_points("Deviation of the gradient's entries",
                                                {"epoch", Scale::kLog}, {"deviation", Scale::kLog},
                                                deviation_names));
  context.results().add_chart(
      "descent", std::move(panels),
      "The whole law as one batch (eqs. 16, 17), W from 0. The gradient shrinks while W is learned "
      "(right), so plain SGD slows down. Its sign (Adam without momentum) and the gradient over "
      "its deviation do not; a larger step of SGD gains nearly as much. Bands: half a standard "
      "deviation.");
  context.results().add_difference(
      "Errors are those of equation (5); the published code averages the masked probabilities over "
      "inputs, ten times less. What it calls a variance is a standard deviation.");
}

void rescaled_gradient_snapshots(StudyContext& context) {
  const Settings settings = settings_of(context, {.inputs = 10, .unused = {"runs"}}, kNoSetting);
  const AssociationTask task = task_of(settings);
  const WeightedBatch population = population_batch(task);
  for (const PopulationRule& how : std::span(kPopulationRules).first(3)) {
    auto panels = std::make_unique<Panels>("Answers while learning: " + how.name);
    auto model = random_model(task, kPopulationDimension, OutputScale::kUnit, context.seed());
    for (int64_t t = 0; t < kEpochs; ++t) {
      descend(task, population, {.rule = how.rule, .memory = how.step_size}, model);
      const auto scores = model_scores(task, model);
      context.results().add_point(
          {how.name, static_cast<double>(t), population_error_of_scores(task, scores)});
      const int64_t shown[] = {0, 1, 2, 3, 6, 10, 99};
      if (std::find(std::begin(shown), std::end(shown), t) == std::end(shown)) continue;
      panels->add(answer_map(task, scores, fmt::format("Epoch {}", t)));
    }
    context.results().add_chart(
        how.name, std::move(panels),
        "softmax of u_yᵀ W e_x while W follows the population gradient (eq. 17) from 0; one colour "
        "scale. The sign and the rescaled gradient store the rare inputs (large x) within a few "
        "epochs; plain SGD only begins to in a hundred.");
  }
}

}  // namespace tessera::scaling_laws
