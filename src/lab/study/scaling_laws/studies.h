#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lab/study/study.h"
#include "lab/theory/score_descent.h"
#include "tessera/base/random.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/association_task.h"
#include "tessera/report/heat_map.h"

/// The studies of "Scaling Laws for Associative Memories" (Cabannes, Dohmatob, Bietti 2024).
namespace tessera::scaling_laws {

/// What most of these studies can change.
struct Settings {
  int64_t runs = 100;
  int64_t inputs = 100;
  int32_t outputs = 5;
  double alpha = 2;
  SettingNames unused = {};  ///< those of them that a study does not have

  template <typename Visitor>
  void visit_fields(Visitor&& visitor) {
    const auto field = all_but(unused, visitor);
    field("runs", runs, "independent draws of embeddings and samples", config::at_least(1));
    field("inputs", inputs, "number of inputs, N", config::at_least(1));
    field("outputs", outputs, "number of outputs, M", config::between(1, INT32_MAX));
    field("alpha", alpha, "exponent of the Zipf law", config::above(0));
  }
};

/// Inputs with a Zipf law, as the settings have it.
theory::AssociationTask task_of(const Settings& settings);

/// The settings with a tenth of the runs (at least 4 of them) for --quick; the default is the
/// paper's. bound: as StudyContext::settings has it. The report begins with the paper's symbols.
Settings settings_of(StudyContext& context, Settings paper,
                     const SettingNames& bound = kEverySetting);

/// The stream of random numbers from which samples are drawn; embeddings have streams of their own.
constexpr uint64_t kSampleStream = 2;

/// Samples of a task, drawn by the seed from the stream for them.
class Samples {
 public:
  Samples(const theory::AssociationTask& task, uint64_t seed)
      : table_(task.law), random_(seed, kSampleStream) {}

  int32_t draw() { return table_.draw(random_); }
  theory::WeightedBatch batch(int64_t size);

 private:
  theory::AliasTable table_;
  RandomStream random_;
};

/// One run of descent on samples, from W = 0.
struct SampledDescent {
  SampledDescent(const theory::AssociationTask& task, int64_t dimension, uint64_t seed)
      : model(theory::random_model(task, dimension, theory::OutputScale::kUnit, seed)),
        descent(task, model),
        samples(task, seed) {}

  theory::AssociativeModel<float> model;
  theory::ScoreDescent descent;
  Samples samples;
};

/// Numbers of one run, from its seed.
using RunNumbers = std::function<std::vector<double>(uint64_t seed)>;

/// Each of the `count` numbers of a run over the runs, as a part of the study that is kept.
/// first_run: their first number, from which the seeds follow.
std::vector<Spread> measured(StudyContext& context, const std::string& part, int64_t runs,
                             size_t count, const RunNumbers& numbers, int64_t first_run = 0);

/// The means of the numbers over as many other runs, to choose by: the best by the runs that are
/// reported would seem better than it is.
std::vector<double> trial_means(StudyContext& context, const std::string& part, int64_t runs,
                                size_t count, const RunNumbers& numbers);
size_t place_of_least(std::span<const double> values);

/// One number over the runs, likewise.
Spread measured_number(StudyContext& context, const std::string& part, int64_t runs,
                       const std::function<double(uint64_t seed)>& number);

/// The number of each value, a dimension for example, over the runs, likewise.
std::vector<Spread> measured_each(
    StudyContext& context, const std::string& part, int64_t runs, std::span<const int64_t> values,
    const std::function<double(int64_t value, uint64_t seed)>& number);

/// Errors in the order of memories and dimensions.
std::vector<double> flat(const std::vector<std::vector<double>>& errors);

/// Simulated errors of a memory in each dimension, each input with the law of its scores
/// (theory::marginal_error), as a part of the study that is kept.
std::vector<Spread> simulated_errors(StudyContext& context, const std::string& part, int64_t runs,
                                     const theory::AssociationTask& task,
                                     const theory::MemoryScheme& scheme,
                                     const std::vector<int64_t>& dimensions);

std::vector<double> means_of(std::span<const Spread> spreads);

/// The standard error of a mean over runs; NaN where there is but one, which has none.
double error_of(const Spread& measured);
/// How tables show the mean and its standard error.
Cell mean_cell(const Spread& measured);
Cell error_cell(const Spread& measured);

/// Adds one curve; the band is half a standard deviation high on each side. published: the
/// paper's own values, or empty.
void add_curve(StudyResults& results, const std::string& series, std::span<const double> x,
               std::span<const Spread> y, std::span<const double> published = {});

/// Adds one curve of exact values.
void add_values(StudyResults& results, const std::string& series, std::span<const double> x,
                std::span<const double> y);

/// A point with a band of one standard error.
ResultPoint point_of(const std::string& series, double x, const Spread& y);

/// A line of a chart through exact values. colour_of: as Series has it.
Series line_through(const std::string& name, std::span<const double> x, std::span<const double> y,
                    SeriesStyle style = SeriesStyle::kLine, const std::string& colour_of = "");

/// Numbers of another implementation of the paper's equations, where the paper shows a curve
/// without its numbers: name, theirs, ours, ours' standard error. Left out where they do not hold;
/// so is a row whose reference is NaN.
class ReferenceTable {
 public:
  explicit ReferenceTable(const StudyContext& context);
  void add(const std::string& what, double reference, const Spread& ours);
  /// A curve at once; what: ends with the name of x.
  void add_curve(const std::string& what, std::span<const double> x,
                 std::span<const double> reference, std::span<const Spread> ours);
  void finish(StudyResults& results);

 private:
  bool holds_;
  Table table_;
};

/// softmax of scores [N, M] over the outputs of each input.
std::vector<double> answer_probabilities(const theory::AssociationTask& task,
                                         std::span<const float> scores);
/// A picture of them, inputs from top to bottom.
std::unique_ptr<HeatMap> answer_map(const theory::AssociationTask& task,
                                    std::span<const float> scores, const std::string& title);

/// The dashed line constant * x^power, in the colour of another series, or grey.
Series reference_line(const std::string& name, std::span<const double> x, double constant,
                      double power, const std::string& colour_of = "");

/// log_log_slope(): an exponent of errors by dimension or data; NaN where an error is 0.
double exponent_of(std::span<const double> x, std::span<const double> errors);

/// As many samples as there are.
constexpr double kAllData = std::numeric_limits<double>::infinity();

/// The axes of most charts of these studies.
inline const std::string kErrorLabel = "error (share of wrong answers)";
inline const Axis kLogDimension = {"dimension d", Scale::kLog},
                  kLogError = {kErrorLabel, Scale::kLog}, kLogSamples = {"samples T", Scale::kLog};

/// Those of most figures.
inline const std::vector<int64_t> kUsualDimensions = {10, 20, 50, 100, 200, 500, 1000};
std::vector<double> as_doubles(std::span<const int64_t> values);
/// About `count` different integers evenly spaced in the logarithm from `low` to `high`.
std::vector<int64_t> log_spaced(int64_t low, int64_t high, int64_t count);

// A function for each study; all_studies.cpp has their ids and titles.
void interference_drawing(StudyContext& context);
void finite_data_and_memory(StudyContext& context);
void schemes(StudyContext& context);
void schemes_with_more_inputs(StudyContext& context);
void stored_heatmaps(StudyContext& context);
void error_rates(StudyContext& context);
void descent_and_approximation(StudyContext& context);
void batch_descent_and_approximation(StudyContext& context);
void approximate_schemes(StudyContext& context);
void interference_while_learning(StudyContext& context);
void memory_under_large_steps(StudyContext& context);
void schedules(StudyContext& context);
void optimisers(StudyContext& context);
void learned_embeddings(StudyContext& context);
void learned_embeddings_error(StudyContext& context);
void rescaled_gradients(StudyContext& context);
void rescaled_gradient_snapshots(StudyContext& context);
void theorem1(StudyContext& context);
void theorem2(StudyContext& context);
void proposition2(StudyContext& context);
void proposition3(StudyContext& context);
void proposition4(StudyContext& context);
void other_laws(StudyContext& context);
void lemma1(StudyContext& context);
void rectified_lookup(StudyContext& context);
void proposition5(StudyContext& context);
void general_weights(StudyContext& context);
void compensation(StudyContext& context);
void adaptive_step(StudyContext& context);
void planner_check(StudyContext& context);
void error_per_item(StudyContext& context);
void decoders(StudyContext& context);

}  // namespace tessera::scaling_laws
