#pragma once

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lab/learner/regbench/regbench_batch.h"
#include "lab/task/sequence/draws.h"
#include "lab/task/sequence/sequence_task.h"
#include "tessera/model/language_model.h"
#include "tessera/train/learner.h"

namespace tessera::task {

/// What a model is measured on: languages that it was not trained on (out of distribution), or new
/// strings of those it was trained on (Zhang et al. 2024, table 3).
enum class MeasuredOn { kNewLanguages, kTrainedLanguages };
constexpr std::array<std::string_view, 2> enum_names(MeasuredOn) {
  return {"new-languages", "trained-languages"};
}

struct RegBenchData {
  int64_t languages = 1000;
  int64_t held_out = 250;
  MeasuredOn measured_on = MeasuredOn::kNewLanguages;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("languages", languages, "training languages, one sequence of each, again and again",
          config::between(1, 0x1p32));
    field("held_out", held_out,
          "number of test sequences; validation reads as many, at most train.evaluate_batches "
          "batches",
          config::between(1, 0x1p32));
    field("measured_on", measured_on, "languages of these sequences");
  }
};

/// A training of a language model on RegBench.
struct RegBenchTrainingConfig {
  RegBenchConfig task;
  RegBenchData data;
  config::Json model = {{"kind", "memory_mosaic"}};  ///< the kind and any of its keys; vocabulary
                                                     ///< and window are the task's
  TrainConfig train;

  /// Throws UsageError on unknown tables and keys, and on values that make no sense.
  static RegBenchTrainingConfig from_json(const config::Json& json, const std::string& where);
  config::Json to_json() const;
  /// Throws UsageError on values that make no sense. Allocates no parameters.
  void check() const;

  /// The sequences of a split. Validation and test have other languages than the training, or other
  /// sequences of the same, by data.measured_on.
  RegBenchSet set(Split split) const;
};

/// A language model that learns next symbols. Validation: the mean loss over all answers, accuracy
/// and distance as RegBenchScore has them, also of the test.
class RegBenchLearner : public Learner {
 public:
  static constexpr std::string_view kTask = "regbench";  ///< in a table [task]

  /// Throws UsageError on a configuration that makes no sense.
  explicit RegBenchLearner(const RegBenchTrainingConfig& config);

  torch::nn::Module& module() override { return *model_; }
  at::Tensor loss(int64_t step, int64_t micro_batch) override;
  Metrics evaluate(const OnBatch& on_batch) override;
  Metrics test(std::FILE* progress) override;

  void save(const std::filesystem::path& folder) override;
  config::Json configuration() const override;
  config::Json completed(const config::Json& written, const std::string& where) const override;
  std::string digest() const override;

  std::string name() const override { return std::string(model_->kind()); }
  std::string unit() const override { return "sequences"; }
  std::vector<ShownMetric> shown() const override;

 private:
  Metrics measure(const std::vector<RegBenchBatch>& batches, const OnBatch& on_batch);

  RegBenchTrainingConfig config_;
  RegBench task_;
  std::shared_ptr<LanguageModel> model_;
  EpochOrder order_;  // of the training languages
  std::vector<RegBenchBatch> validation_;
};

}  // namespace tessera::task
