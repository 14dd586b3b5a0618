// Section A.9.1: output embeddings that turn interference into help, equations (54) and (55).

#include "lab/theory/compensation.h"

#include "lab/study/scaling_laws/studies.h"
#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/plan/association_task.h"
#include "tessera/plan/population_error.h"

namespace tessera::scaling_laws {
namespace {

using namespace theory;

constexpr int64_t kSteps = 400;

double error_with(const AssociationTask& task, std::span<const double> found,
                  std::span<const double> outputs, int64_t d) {
  const auto scores = compensated_scores(found, outputs, d);
  return population_error_of_scores(task, std::vector<float>(scores.begin(), scores.end()));
}

/// Errors of one memory with random outputs, with equal angles, and with outputs that fit it.
std::vector<double> errors_of_run(const AssociationTask& task, int64_t d, uint64_t seed) {
  const std::vector<float> all_stored(task.law.size(), 1);
  const auto found = found_outputs(task, all_stored, d, seed);
  const auto drawn = random_directions(task.outputs, d, run_seed(seed, 1));
  const std::vector<double> random(drawn.begin(), drawn.end());
  const auto simplex = simplex_outputs(task.outputs, d);
  const auto fitting = compensating_outputs(task, found, simplex, d, kSteps);
  return {error_with(task, found, random, d), error_with(task, found, simplex, d),
          error_with(task, found, fitting, d)};
}

/// The outputs' products, before and after they were fitted to one memory.
void draw_products(StudyContext& context, const AssociationTask& task, int64_t d) {
  const std::vector<float> all_stored(task.law.size(), 1);
  const auto found = found_outputs(task, all_stored, d, context.seed());
  const auto u = compensating_outputs(task, found, simplex_outputs(task.outputs, d), d, kSteps);
  std::vector<std::string> names;
  for (int32_t y = 1; y <= task.outputs; ++y) names.push_back(fmt::format("{}", y));
  auto map = std::make_unique<HeatMap>(fmt::format("Products of fitted outputs, d = {}", d), names,
                                       names, Axis{"product", Scale::kLinear, -1, 1});
  map->name_axes("output", "output");
  std::vector<double> unit(task.outputs * task.outputs);
  for (int32_t y = 0; y < task.outputs; ++y) unit[y * task.outputs + y] = 1;
  map->set_values(compensated_scores(unit, u, d));
  context.results().add_chart(
      "products", std::move(map),
      fmt::format("Section A.9.1: equal angles would have {:.2f} everywhere. Outputs that compete "
                  "for the same inputs move apart; one that is found beside the right one moves "
                  "towards it and speaks for it.",
                  -1.0 / (task.outputs - 1)));
}

}  // namespace

void compensation(StudyContext& context) {
  const Settings settings =
      settings_of(context, {.runs = 40, .inputs = 100, .outputs = 5, .alpha = 1}, kNoSetting);
  if (settings.outputs < 2 || settings.outputs > 64)
    throw UsageError("outputs is {}, expected 2 to 64", settings.outputs);
  const AssociationTask task = task_of(settings);
  const auto dimensions = log_spaced(settings.outputs, 20 * settings.outputs, 7);
  const std::vector<std::string> names = {"random outputs", "outputs at equal angles",
                                          "outputs that fit the memory"};
  std::vector<std::vector<Spread>> errors(names.size());
  Progress progress(context.progress(), "Compensation", std::ssize(dimensions));
  Table table("Error by the outputs' embeddings", {"d", "outputs", "error", "standard error"});
  for (const int64_t d : dimensions) {
    const auto of_dimension =
        measured(context, fmt::format("d = {}", d), settings.runs, names.size(),
                 [&](uint64_t seed) { return errors_of_run(task, d, seed); });
    for (size_t kind = 0; kind < names.size(); ++kind) {
      const Spread& error = errors[kind].emplace_back(of_dimension[kind]);
      table.add_row({d, names[kind], mean_cell(error), error_cell(error)});
    }
    progress.advance();
  }
  for (size_t kind = 0; kind < names.size(); ++kind)
    add_curve(context.results(), names[kind], as_doubles(dimensions), errors[kind]);
  context.results().add_table("numbers", std::move(table));
  context.results().add_chart(
      "errors",
      context.results().chart_of_points("Interference that helps", kLogDimension, kLogError, names),
      fmt::format("Section A.9.1: an input also finds the outputs of its neighbours (54), and an "
                  "error is made where another output then has the largest score (55). All {} "
                  "inputs are stored alike; the inputs' embeddings are random and stay as they "
                  "are. Outputs are fitted by {} steps of descent on the cross entropy.",
                  settings.inputs, kSteps));
  draw_products(context, task, dimensions[2]);
}

}  // namespace tessera::scaling_laws
