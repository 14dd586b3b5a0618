#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/learner/babi/babi_batch.h"
#include "lab/learner/babi/question_answerer.h"
#include "tessera/report/table.h"
#include "tessera/train/learner.h"

namespace tessera::task {

/// The [train] table's defaults for bAbI: those of Le et al. 2020, appendix J, where their code has
/// 0.0006 for the paper's learning rate of 0.006. `batch` counts questions; an epoch of all tasks
/// has 1,400 updates.
TrainConfig default_babi_training();

/// A joint training on bAbI tasks.
struct BabiTrainingConfig {
  BabiConfig data;
  QuestionAnswererConfig model;       ///< vocabulary and words are those of the data
  int64_t validation_stories = 1000;  ///< of each task
  TrainConfig train = default_babi_training();

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("data", data, "which tasks, from which files");
    field("model", model, "its sizes; vocabulary and words are those of the data");
    field("validation_stories", validation_stories, "stories of each task that an evaluation reads",
          config::between(1, 0x1p40));
    field("train", train, "how it is trained");
  }

  /// Throws UsageError on values that no data and no training can have.
  void check() const;
};

/// How questions were answered.
struct BabiScore {
  int64_t questions = 0, wrong = 0;
  int64_t unseen = 0, wrong_unseen = 0;  ///< of a test, questions that training does not have
  double nats = 0;                       ///< cross-entropy of all together

  /// Share of wrong answers.
  double error() const { return static_cast<double>(wrong) / static_cast<double>(questions); }
};

/// One model that learns all tasks together, each update on one of them (draw_babi). Evaluations
/// and the test give the mean loss and the mean error of the tasks, and the error of each; the test
/// is on all test questions.
class BabiLearner : public Learner {
 public:
  static constexpr std::string_view kTask = "babi";  ///< in a table [task]

  /// Reads the data. Throws UsageError on a configuration that makes no sense, and what BabiData
  /// throws.
  explicit BabiLearner(const BabiTrainingConfig& config);
  /// The same with data that were read: config.data is only what the run records of them.
  BabiLearner(const BabiTrainingConfig& config, BabiData data);

  const BabiData& data() const { return data_; }
  QuestionAnswerer& model() { return *model_; }

  torch::nn::Module& module() override { return *model_; }
  at::Tensor loss(int64_t step, int64_t micro_batch) override;
  Metrics evaluate(const OnBatch& on_batch) override;
  Metrics test(std::FILE* progress) override;

  /// The model, and words.json, its vocabulary.
  void save(const std::filesystem::path& folder) override;
  config::Json configuration() const override;
  config::Json completed(const config::Json& written, const std::string& where) const override;
  std::string digest() const override;

  std::string name() const override { return std::string(QuestionAnswerer::kKind); }
  std::string unit() const override { return "questions"; }
  std::vector<ShownMetric> shown() const override;
  /// Also a table of the error of each task.
  void add_results(const Trained& trained, StudyResults& results) override;

 private:
  Metrics measure(Split split, int64_t stories, const OnBatch& on_batch);

  BabiTrainingConfig config_;  // with all sizes of the model
  BabiData data_;
  std::shared_ptr<QuestionAnswerer> model_;
};

/// Metrics of one task: the share of wrong answers; of a test also the share of its questions that
/// stand word for word in training, and the share of wrong answers to the others (0 where there are
/// none).
std::string babi_error_metric(int64_t task);
std::string babi_seen_metric(int64_t task);
std::string babi_unseen_error_metric(int64_t task);
/// The last one in percent; an empty cell where there are none.
Cell babi_unseen_error(const Metrics& test, int64_t task);

/// How a model answers the questions of one task. limit: of that many stories (0: all). Throws
/// Interrupted between two batches after a signal.
BabiScore score_babi(QuestionAnswerer& model, const BabiData& data, int64_t task, Split split,
                     int64_t limit = 0);

}  // namespace tessera::task
