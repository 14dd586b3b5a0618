#include "tessera/text/text_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tessera/model/memory_mosaic.h"
#include "tessera/report/heat_map.h"
#include "tessera/report/line_chart.h"
#include "tessera/train/metrics_log.h"
#include "tessera/train/training_report.h"

namespace tessera {
namespace {

/// The validation losses of a run by step, and the training losses averaged between evaluations.
void add_loss_curves(const NamedText& training, StudyResults& results, LineChart& chart) {
  Series validation{training.name, {}, SeriesStyle::kLine};
  Series batches{training.name, {}, SeriesStyle::kHollow};
  batches.is = "training batches";
  const std::map<int64_t, double> losses = logged_losses(training.trained->folder);
  auto batch = losses.begin();
  for (const auto& [step, metrics] : logged_evaluations(training.trained->folder)) {
    double sum = 0;
    int64_t count = 0;
    for (; batch != losses.end() && batch->first <= step; ++batch, ++count) sum += batch->second;
    const double x = step;
    validation.points.push_back({x, loss_of(metrics)});
    if (count > 0) batches.points.push_back({x, sum / static_cast<double>(count)});
  }
  for (const auto& point : validation.points)
    results.add_point({training.name + ", loss by step", point.x, point.y});
  for (const auto& point : batches.points)
    results.add_point({training.name + ", training, loss by step", point.x, point.y});
  chart.add(std::move(validation));
  chart.add(std::move(batches));
}

/// Means over groups of positions: single ones are noisy on little text.
void add_position_loss(const NamedText& training, StudyResults& results, LineChart& chart) {
  constexpr size_t kGroups = 32;
  Series series{training.name, {}, SeriesStyle::kLine};
  const auto& losses = training.learner->position_loss().nats;
  const size_t width = std::max<size_t>(1, losses.size() / kGroups);
  for (size_t begin = 0; begin < losses.size(); begin += width) {
    const size_t end = std::min(begin + width, losses.size());
    const double mean =
        std::accumulate(losses.begin() + begin, losses.begin() + end, 0.0) / (end - begin);
    const double middle = 0.5 * (begin + end + 1);
    series.points.push_back({middle, mean});
    results.add_point({training.name + ", loss by position", middle, mean});
  }
  chart.add(std::move(series));
}

Cell measured(double value) {
  return std::isnan(value) ? Cell("not measured") : Cell::fixed(value, 4);
}

Table losses_table(const std::vector<NamedText>& trainings, const Corpus& corpus) {
  Table table("After training", {"model", "parameters", "validation loss (nats/token)",
                                 "bits per byte", "training speed (tokens/s)"});
  for (const auto& [name, learner, trained] : trainings)
    table.add_row({name, learner->model()->parameter_count(), measured(trained->validation_loss()),
                   measured(corpus.bits_per_byte(trained->validation_loss())),
                   Cell::fixed(trained->units_per_second, 0)});
  return table;
}

std::vector<std::string> numbered(const std::string& what, int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 1; i <= count; ++i) names.push_back(what + " " + std::to_string(i));
  return names;
}

/// One scalar of every head of every block as a picture.
std::unique_ptr<HeatMap> heads_picture(
    const MemoryMosaic& model, std::string title, Axis colours,
    const std::function<at::Tensor(const MosaicBlock&)>& scalar) {
  const auto& config = model.configuration();
  auto picture = std::make_unique<HeatMap>(std::move(title), numbered("block", config.layers),
                                           numbered("", config.heads), std::move(colours));
  std::vector<double> values;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const at::Tensor heads = scalar(model.block(layer)).to(at::kDouble);
    for (int64_t head = 0; head < config.heads; ++head)
      values.push_back(heads[head].item<double>());
  }
  picture->set_values(std::move(values));
  picture->name_axes("", "head");
  return picture;
}

/// None where it is of another kind.
const MemoryMosaic* mosaic_of(const TextLearner* learner) {
  return dynamic_cast<const MemoryMosaic*>(learner->model().get());
}

/// suffix: of the pictures' files; name: of the model, where there are several.
void add_head_pictures(const MemoryMosaic& model, const std::string& suffix,
                       const std::string& name, StudyResults& results) {
  results.add_chart(
      "leaky-averages" + suffix,
      heads_picture(model, "Leaky average λ of the contextual memories' keys" + name, {"λ"},
                    [](const MosaicBlock& block) { return block->context->key->decay(); }),
      "How far into the past a head's key looks: a token n steps back has the weight λⁿ.");
  results.add_chart(
      "bandwidths" + suffix,
      heads_picture(model, "Kernel bandwidth β of the contextual memories" + name, {"β"},
                    [](const MosaicBlock& block) { return block->context->key->scale().square(); }),
      "How sharply a head tells stored keys apart: the weights are softmax(β cos).");
}

}  // namespace

void add_text_results(const std::vector<NamedText>& trainings, const Corpus& corpus,
                      StudyResults& results) {
  auto curves = std::make_unique<LineChart>("Validation loss while training", Axis{"step"},
                                            Axis{"nats per token"});
  auto positions = std::make_unique<LineChart>("Loss against the position in the window",
                                               Axis{"tokens read before"}, Axis{"nats per token"});
  std::string windows;  // behind the means, per model
  for (const auto& training : trainings) {
    add_loss_curves(training, results, *curves);
    if (training.learner->position_loss().nats.empty()) continue;
    add_position_loss(training, results, *positions);
    windows += fmt::format("{}{}: {}", windows.empty() ? "" : ", ", training.name,
                           training.learner->position_loss().windows);
  }
  results.add_chart(
      "loss", std::move(curves),
      "Lines: validation. Hollow points: training batches, averaged between evaluations.");
  if (!windows.empty())
    results.add_chart("loss-by-position", std::move(positions),
                      fmt::format("What a longer context is worth: means over windows of the "
                                  "validation text ({}).",
                                  windows));
  results.add_table("losses", losses_table(trainings, corpus));
  const bool several = std::count_if(trainings.begin(), trainings.end(), [](const auto& training) {
                         return mosaic_of(training.learner);
                       }) > 1;
  int64_t mosaics = 0;
  for (const auto& [name, learner, trained] : trainings) {
    if (!learner->written().empty()) results.add_text(name + " writes", learner->written());
    add_missing(name, *trained, results);
    if (const MemoryMosaic* mosaic = mosaic_of(learner))
      add_head_pictures(*mosaic, several ? fmt::format("-{}", ++mosaics) : "",
                        several ? ": " + name : "", results);
  }
}

}  // namespace tessera
