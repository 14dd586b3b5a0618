// Table 1 and figure 4: which digit came with a letter, with parts of the model left out.

#include "lab/task/associative_retrieval/associative_retrieval.h"

#include <algorithm>
#include <optional>

#include "lab/study/stm/sequence_comparison.h"
#include "lab/study/stm/studies.h"
#include "tessera/train/training_report.h"

namespace tessera::stm_study {
namespace {

struct RetrievalSettings : ComparisonSettings<task::AssociativeRetrievalConfig> {
  int64_t fewest_training_pairs = 0;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    ComparisonSettings::visit_fields(field);
    field("fewest_training_pairs", fewest_training_pairs,
          "training has from this many pairs to task.pairs; a batch shares its number (0: all have "
          "task.pairs)");
  }
};

constexpr int64_t kEmbedding = 100;  // width of a token's vector, as in the authors' code
constexpr int64_t kSolved = 99;      // percent
constexpr int64_t kPaperWidth = 48;  // d of the small models of table 1, the others have twice it
const char* const kTwiceAsWide = "STM, twice as wide";

RetrievalSettings retrieval_settings(StudySize size) {
  RetrievalSettings settings;
  settings.models = {
      "STM", "STM without transfer", kTwiceAsWide, "STM without gates", "Fast weights", "LSTM"};
  settings.stm.slots = 1;
  settings.stm.width = kPaperWidth;
  settings.baselines = short_training_baselines();
  settings.data = {.training_samples = 100'000, .test_samples = 20'000};
  settings.train.steps = 100'000;
  settings.train.smoothing = 0.99;
  settings.train.evaluate_every = 781;  // an epoch
  settings.train.evaluate_batches = 78;
  settings.train.checkpoint_every = 781;
  if (size == StudySize::kPaper) return settings;
  settings.models = {"STM", "LSTM"};
  settings.fewest_training_pairs = 1;
  settings.stm = short_training_stm(1, 48);
  settings.data.test_samples = 5'000;
  settings.train = short_training(24'000, 64);
  settings.train.min_learning_rate = 1e-4;
  settings.train.stop_loss = 0.01;
  if (size == StudySize::kDefault) return settings;
  settings.task.pairs = 4;
  settings.fewest_training_pairs = 0;
  settings.stm = short_training_stm(1, 32);
  settings.train.steps = 2'500;
  settings.train.min_learning_rate = settings.train.learning_rate;
  return settings;
}

/// Epochs and accuracy of table 1.
struct PublishedRetrieval {
  double epochs, accuracy;
};
using PublishedColumn = std::map<std::string, PublishedRetrieval>;

/// Sequences of 30 and of 50 characters are 14 and 24 pairs. Null for other numbers and widths.
const PublishedColumn* published_for(const RetrievalSettings& settings) {
  static const PublishedColumn of_30 = {{"STM", {20, 100}},
                                        {"STM without transfer", {10, 100}},
                                        {kTwiceAsWide, {10, 100}},
                                        {"STM without gates", {100, 24}},
                                        {"Fast weights", {50, 100}}};
  static const PublishedColumn of_50 = {{"STM", {80, 100}},
                                        {"STM without transfer", {100, 100}},
                                        {kTwiceAsWide, {20, 100}},
                                        {"STM without gates", {100, 20}},
                                        {"Fast weights", {5000, 20.8}}};
  if (settings.stm.width != kPaperWidth) return nullptr;
  return settings.task.pairs == 14 ? &of_30 : settings.task.pairs == 24 ? &of_50 : nullptr;
}

std::vector<Contestant> retrieval_contestants(const RetrievalSettings& settings) {
  StmConfig no_transfer = settings.stm, wide = settings.stm;
  no_transfer.alpha3 = {.value = 0, .learned = false};
  wide.width *= 2;
  StmConfig no_gates = wide;
  no_gates.gated = false;
  std::map<std::string, double> accuracies;
  if (const auto* published = published_for(settings))
    for (const auto& [name, row] : *published) accuracies[name] = row.accuracy;
  return beside_baselines(settings.baselines,
                          {{"STM", model_table<Stm>(settings.stm, kEmbedding)},
                           {"STM without transfer", model_table<Stm>(no_transfer, kEmbedding)},
                           {kTwiceAsWide, model_table<Stm>(wide, kEmbedding)},
                           {"STM without gates", model_table<Stm>(no_gates, kEmbedding)}},
                          accuracies, kEmbedding);
}

/// Mean number of updates until the validation accuracy was kSolved percent; none unless it was in
/// every run.
std::optional<double> updates_until_solved(const TrainedContestant<task::TaskLearner>& model) {
  double sum = 0;
  for (const auto& [learner, trained] : model.trainings) {
    const auto step = updates_until(trained, learner->shown().front(), kSolved);
    if (!step) return {};
    sum += static_cast<double>(*step);
  }
  return sum / static_cast<double>(model.trainings.size());
}

/// Epochs of the paper's 100,000 samples that these are. published: null where there is nothing for
/// these settings.
Table epochs_table(const std::vector<TrainedContestant<task::TaskLearner>>& models,
                   const PublishedColumn* published) {
  Table table(fmt::format("Until {} % of the validation answers are right", kSolved),
              {"model", "updates", "epochs of 100,000 samples", "published: epochs to converge"});
  for (const auto& model : models) {
    const auto found = published ? published->find(model.name) : PublishedColumn::const_iterator();
    const bool known = published && found != published->end();
    const auto updates = updates_until_solved(model);
    const double samples =
        updates.value_or(0) * static_cast<double>(model.first().learner->units_per_step());
    table.add_row({model.name, updates ? Cell::fixed(*updates, 0) : Cell("not reached"),
                   updates ? Cell::fixed(samples / 100'000, 2) : Cell(""),
                   known ? Cell::fixed(found->second.epochs, 0) : Cell("")});
  }
  return table;
}

}  // namespace

void associative_retrieval(StudyContext& context) {
  // Numbers are published for two numbers of pairs.
  const RetrievalSettings settings =
      context.settings(retrieval_settings, {"task.keys", "task.min_pairs"});
  const auto models =
      compare_models(context, "associative-retrieval", settings, retrieval_contestants(settings),
                     "", {{"min_pairs", settings.fewest_training_pairs}});
  const PublishedColumn* published = context.references_hold() ? published_for(settings) : nullptr;
  context.results().add_table("epochs", epochs_table(models, published));
  if (settings.fewest_training_pairs > 0)
    context.results().add_difference(fmt::format(
        "Training has {} to {} pairs, so that the model can begin with short sequences.",
        settings.fewest_training_pairs, settings.task.pairs));
  if (std::ranges::count(settings.models, "Fast weights") > 0)
    context.results().add_difference(
        "The paper reports fast weights from Zhang & Zhou 2017, who have a size of their own.");
  if (!published_for(settings))
    context.results().add_difference(fmt::format(
        "{} pairs, d = {}; the paper has 14 and 24 pairs (set task.pairs), and d = {} where models "
        "are not twice as wide.",
        settings.task.pairs, settings.stm.width, kPaperWidth));
}

}  // namespace tessera::stm_study
