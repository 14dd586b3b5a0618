// Figure 3: how many pairs a single correlation memory holds, against its number of parameters.

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "lab/study/memo/studies.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/memory/correlation_memory.h"
#include "tessera/model/initialisation.h"
#include "tessera/model/memo.h"
#include "tessera/plan/correlation_noise.h"

namespace tessera::memo_study {
namespace {

constexpr int64_t kBatch = 1000;  // pairs
// Slope of our least-squares line through the authors' 125 points; the paper prints no number.
constexpr double kPublishedSlope = 0.02773;

struct SingleLayerSettings {
  std::vector<int64_t> heads = {4, 8};
  std::vector<int64_t> widths = {16, 64, 128};
  std::vector<int64_t> columns = {512, 1024};
  int64_t vocabulary = 100000;
  double accuracy = 0.9;
  int64_t projection_dimension = 1024;
  int64_t projection_texts = 30;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("heads", heads, "h: tokens of a sequence", config::at_least(1));
    field("widths", widths, "d_h: width of one token's part of a key", config::at_least(1));
    field("columns", columns, "d: width of a value", config::at_least(1));
    field("vocabulary", vocabulary, "number of different tokens, V", config::at_least(2));
    field("accuracy", accuracy, "a memory is full where the accuracy is no more than this");
    field("projection_dimension", projection_dimension, "d of the two projections compared",
          config::at_least(4));
    field("projection_texts", projection_texts, "texts of 1025 tokens stored in each",
          config::at_least(1));
  }
};

/// The authors' capacities in thousands of pairs, by K; one for each d = 512, 1024, ..., 8192.
/// Where runs of the same K and d differ, the middle.
const std::map<int64_t, std::array<double, 5>> kPublishedThousands = {
    {32, {1, 1, 2, 2, 4}},
    {64, {1, 2, 4, 7, 11}},
    {128, {2, 4, 8, 14.5, 26}},
    {256, {4, 8, 15.5, 29.5, 55.5}},
    {512, {8, 16, 31.5, 61, 113}},
    {1024, {15.5, 30.5, 61.5, 121, 232.5}},
    {2048, {30.5, 63, 125, 242.5, 461.5}},
    {4096, {59.5, 124, 246.5, 489.5, 917.5}},
    {8192, {119, 250, 490, 965, 1841}}};

double published_capacity(int64_t rows, int64_t columns) {
  const auto line = kPublishedThousands.find(rows);
  if (line == kPublishedThousands.end()) return ResultPoint::kNone;
  for (size_t k = 0; k < line->second.size(); ++k)
    if (columns == 512 << k) return line->second[k] * 1000;
  return ResultPoint::kNone;
}

/// A memory of random sequences of h tokens and their next tokens, as in the authors' experiment:
/// keys join h vectors of width d_h without any W_V. What batch n holds depends on n alone.
class SingleLayer {
 public:
  SingleLayer(int64_t heads, int64_t width, int64_t columns, int64_t vocabulary, uint64_t seed)
      : heads_(heads),
        seed_(seed),
        inputs_(at::empty({vocabulary, width})),
        outputs_(at::empty({vocabulary, columns})),
        memory_(heads * width, columns) {
    Initialiser random(seed);
    random.normal(inputs_, 1 / std::sqrt(static_cast<double>(heads * width)));
    random.normal(outputs_, 1 / std::sqrt(static_cast<double>(columns)));
  }

  /// Stores or forgets batches until it holds the first `batches`. Throws Interrupted.
  void hold(int64_t batches) {
    while (held_ < batches) {
      InterruptGuard::stop_if_interrupted("stopped while storing pairs");
      const Pairs pairs = batch(held_++);
      memory_.store(pairs.keys, outputs_.index_select(0, pairs.next));
    }
    while (held_ > batches) {
      const Pairs pairs = batch(--held_);
      memory_.forget(pairs.keys, outputs_.index_select(0, pairs.next));
    }
  }

  /// The mean accuracy of the first and the last batch held.
  double accuracy() const { return (accuracy_of(0) + accuracy_of(held_ - 1)) / 2; }

 private:
  struct Pairs {
    at::Tensor keys, next;  // [1000, K], [1000]
  };

  Pairs batch(int64_t index) const {
    const at::Tensor tokens = random_tokens({kBatch, heads_ + 1}, inputs_.size(0), seed_, index);
    const at::Tensor keys = at::embedding(inputs_, tokens.narrow(1, 0, heads_));  // [1000, h, d_h]
    return {keys.view({kBatch, -1}), tokens.select(1, heads_)};
  }
  double accuracy_of(int64_t index) const {
    const Pairs pairs = batch(index);
    return memo_study::accuracy(memory_.retrieve(pairs.keys), outputs_, pairs.next);
  }

  int64_t heads_, held_ = 0;
  uint64_t seed_;
  at::Tensor inputs_, outputs_;  // [V, d_h], [V, d]
  CorrelationMemory memory_;
};

/// The number of batches at which the accuracy first fails, the failing one included as the authors
/// count; searched from `expected` on, up or down.
int64_t batches_to_failure(SingleLayer& layer, double accuracy, int64_t expected) {
  const auto holds = [&](int64_t batches) {
    layer.hold(batches);
    return layer.accuracy() > accuracy;
  };
  int64_t batches = std::max<int64_t>(1, expected);
  if (holds(batches)) {
    while (holds(++batches)) continue;
  } else {
    while (batches > 1 && !holds(batches - 1)) --batches;
  }
  return batches;
}

/// Pairs after which the noise law's recall falls to the accuracy.
double predicted_capacity(const SingleLayerSettings& settings, int64_t rows, int64_t columns) {
  return theory::correlation_capacity(
      {.rows = rows, .columns = columns, .vocabulary = settings.vocabulary, .lengths_vary = true},
      settings.accuracy);
}

/// Slope of the least-squares line through the points that the authors measured too, by their
/// capacities or by ours; NaN where they are at fewer than two sizes.
double linear_slope(const std::vector<ResultPoint>& points, double ResultPoint::*capacity) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const ResultPoint& point : points) {
    if (std::isnan(point.published)) continue;
    n += 1;
    x += point.x;
    y += point.*capacity;
    xx += point.x * point.x;
    xy += point.x * point.*capacity;
  }
  const double spread = n * xx - x * x;
  return spread > 0 ? (n * xy - x * y) / spread : ResultPoint::kNone;
}

/// Heads and widths of the keys, by their product.
std::vector<std::pair<int64_t, int64_t>> key_shapes(const SingleLayerSettings& settings) {
  std::vector<std::pair<int64_t, int64_t>> shapes;
  for (const int64_t heads : settings.heads)
    for (const int64_t width : settings.widths) shapes.emplace_back(heads, width);
  std::stable_sort(shapes.begin(), shapes.end(), [](const auto& a, const auto& b) {
    return a.first * a.second < b.first * b.second;
  });
  return shapes;
}

void measure_grid(StudyContext& context, const SingleLayerSettings& settings) {
  Table table("Pairs stored when the accuracy falls to " + Cell(settings.accuracy).shown(),
              {"h", "d_h", "d", "parameters", "published", "ours", "noise law"});
  const auto shapes = key_shapes(settings);
  int64_t work = 0, done = 0;
  for (const int64_t columns : settings.columns) work += columns * std::ssize(shapes);
  Progress progress(context.progress(), "Single layer", work);
  for (const int64_t columns : settings.columns)
    for (const auto& [heads, width] : shapes) {
      const int64_t rows = heads * width;
      const double predicted = predicted_capacity(settings, rows, columns);
      const std::string sizes = fmt::format("h = {}, d_h = {}, d = {}", heads, width, columns);
      const double batches = context.number(sizes, [&, &heads = heads, &width = width] {
        SingleLayer layer(heads, width, columns, settings.vocabulary, context.seed());
        const auto expected = static_cast<int64_t>(predicted / kBatch);
        return static_cast<double>(batches_to_failure(layer, settings.accuracy, expected));
      });
      const int64_t pairs = kBatch * static_cast<int64_t>(batches);
      const double published = context.reference(published_capacity(rows, columns));
      context.results().add_point({.series = fmt::format("d = {}", columns),
                                   .x = static_cast<double>(rows * columns),
                                   .y = static_cast<double>(pairs),
                                   .published = published});
      table.add_row({heads, width, columns, rows * columns, fixed_or_empty(published, 0), pairs,
                     Cell::fixed(predicted, 0)});
      progress.update(done += columns, fmt::format("{}: {} pairs", sizes, pairs));
    }
  context.results().add_table("capacities", std::move(table));
}

void draw_grid(StudyContext& context, const SingleLayerSettings& settings) {
  StudyResults& results = context.results();
  results.compare({.what = "pairs per parameter (slope of a line through the authors' points at "
                           "these sizes, and through ours)",
                   .published = linear_slope(results.points(), &ResultPoint::published),
                   .ours = linear_slope(results.points(), &ResultPoint::y),
                   .digits = 4});
  for (const ResultPoint& point : results.points())
    results.compare({.what = fmt::format("pairs, {}, {} parameters", point.series, point.x),
                     .published = point.published,
                     .ours = point.y,
                     .digits = 6});
  auto chart = results.chart_of_points("Capacity of a correlation memory",
                                       {"parameters h · d_h · d", Scale::kLog},
                                       {"pairs stored", Scale::kLog});
  std::map<double, double> law;  // of square memories
  Series published{
      fmt::format("{:.4f} pairs a parameter", kPublishedSlope), {}, SeriesStyle::kReference};
  for (const ResultPoint& point : results.points()) {
    const auto side = std::llround(std::sqrt(point.x));
    law[point.x] = predicted_capacity(settings, side, side);
  }
  Series predicted{"noise law, K = d", {}, SeriesStyle::kReference};
  for (const auto& [parameters, pairs] : law) {
    predicted.points.push_back({parameters, pairs});
    published.points.push_back({parameters, kPublishedSlope * parameters});
  }
  chart->add(std::move(predicted));
  if (context.references_hold()) chart->add(std::move(published));
  results.add_chart(
      "capacity", std::move(chart),
      fmt::format(
          "Pairs that C = Σ s yᵀ (eq. 2) holds until no more than a share of {} of them is "
          "read back right (eq. 4), against its parameters: a slope of 1 on these axes, so "
          "capacity is proportional to them and depends on h only through h · d_h. Hollow: "
          "the authors' numbers; dotted: {:.4f} pairs a parameter, the slope of a line "
          "through their 125 points; dashed: the law of the crosstalk between random keys, for "
          "square memories. Theirs and ours count in thousands and include the batch that fails.",
          settings.accuracy, kPublishedSlope));
}

/// What an orthonormal W_V gains over the published Gaussian one: one layer, uniform texts.
void compare_projections(StudyContext& context, const SingleLayerSettings& settings) {
  constexpr int64_t kLength = 1025, kRowsRead = 3, kVocabulary = 50254, kHeads = 4;
  const int64_t d = settings.projection_dimension, texts = settings.projection_texts;
  Table table(
      fmt::format("One layer, h = 4, d = {}, {} tokens stored: recall with two kinds of W_V "
                  "(reference: another implementation)",
                  d, texts * (kLength - 1)),
      {"W_V", "d · Var(k · k')", "recall", "reference", "noise law",
       "tokens at a recall of 0.9 by the law"});
  Progress progress(context.progress(), "Projections", 2);
  for (const SlotProjection projection :
       {SlotProjection::kGaussian, SlotProjection::kOrthonormal}) {
    const bool gaussian = projection == SlotProjection::kGaussian;
    const auto name = std::string(config::enum_name(projection));
    const auto measure = [&]() -> std::vector<double> {
      Memo memo({.vocabulary = kVocabulary,
                 .dimension = d,
                 .heads = kHeads,
                 .layers = 1,
                 .projection = projection},
                context.seed());
      const at::Tensor tokens = random_tokens({texts, kLength}, kVocabulary, context.seed(), 0);
      const int64_t pairs = memo.memorize(tokens);
      const at::Tensor read = tokens.narrow(0, 0, std::min(texts, kRowsRead));
      const at::Tensor outputs = memo.read(read).slice(1, kHeads - 1, kLength - 1);
      const double recall = accuracy(outputs.reshape({-1, d}), memo.embeddings(),
                                     read.slice(1, kHeads).reshape({-1}));
      return {key_variance(memo, context.seed()), recall, static_cast<double>(pairs)};
    };
    const auto numbers = context.part("projection " + name, 3, measure);
    const double variance = numbers[0], recall = numbers[1], pairs = numbers[2];
    const theory::CorrelationCode code = {
        .rows = d,
        .columns = d,
        .vocabulary = kVocabulary,
        .key_variance = gaussian ? theory::shared_gaussian_key_variance(kHeads) : 1.0,
        .lengths_vary = true};
    const bool is_known = d == 1024 && texts == 30;
    table.add_row({name, Cell::fixed(variance, 3), Cell::fixed(recall, 3),
                   is_known ? Cell::fixed(gaussian ? 0.800 : 0.917, 3) : Cell(),
                   Cell::fixed(theory::correlation_recall(code, pairs), 3),
                   Cell::fixed(theory::correlation_capacity(code, 0.9), 0)});
    progress.advance();
  }
  context.results().add_table("projections", std::move(table));
}

void check_single_layer(const SingleLayerSettings& settings) {
  check_list("heads", settings.heads);
  check_list("widths", settings.widths);
  check_list("columns", settings.columns);
  if (settings.projection_dimension % 4 != 0)
    throw UsageError("projection_dimension is {}, expected a multiple of 4",
                     settings.projection_dimension);
  if (!(settings.accuracy > 1.0 / static_cast<double>(settings.vocabulary) &&
        settings.accuracy < 1))
    throw UsageError("accuracy is {}, expected a number between chance and 1", settings.accuracy);
}

}  // namespace

void single_layer(StudyContext& context) {
  SingleLayerSettings quick, paper;
  quick.heads = {4};
  quick.widths = {16, 64};
  quick.columns = {512};
  quick.projection_dimension = 512;
  quick.projection_texts = 8;
  paper.heads = {2, 4, 8, 16, 32};
  paper.widths = {16, 32, 64, 128, 256};
  paper.columns = {512, 1024, 2048, 4096, 8192};
  const SingleLayerSettings settings =
      context.settings(quick, SingleLayerSettings(), paper, {"vocabulary", "accuracy"});
  check_single_layer(settings);
  measure_grid(context, settings);
  draw_grid(context, settings);
  compare_projections(context, settings);
  context.results().add_difference(
      "The accuracy is measured near the capacity only: the noise law says where to begin, and "
      "batches are stored or forgotten one by one from there.");
}

}  // namespace tessera::memo_study
