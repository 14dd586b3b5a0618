#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/learner/sequence/task_learner.h"
#include "lab/study/comparison.h"
#include "tessera/model/sequence_model.h"

/// Benchmarks of others on which the networks of several papers are compared.
namespace tessera::benchmark_study {

/// Bytes of the numbers that the model keeps of one sequence of so many tokens, measured: those of
/// the tensors of its state, but for counters.
int64_t state_bytes_after(SequenceModel& model, int64_t tokens);
/// Those that each further token adds, behind so many: 0 for a state of fixed size.
int64_t state_bytes_per_token(SequenceModel& model, int64_t tokens);

/// The sizes of networks of blocks.
struct NetworkSizes {
  int64_t layers = 2;
  int64_t channels = 64;
  int64_t heads = 4;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("layers", layers, "blocks of each network");
    field("channels", channels, "width of each network");
    field("heads", heads, "memories per unit, attention heads");
  }
  /// The table [model] of a network of these sizes, of this window, without dropout. A model
  /// without heads, an LSTM, gets none.
  config::Json sized(config::Json model, int64_t window) const;
};

/// A network that was trained on a task, with the best of the learning rates that were tried.
struct BestRate {
  double rate = 0;
  int64_t tried = 0;  ///< rates
  StudyTraining<task::TaskLearner> training;
};

/// Trains with one rate after the other, until one gives this share of right validation answers;
/// the best training counts. The lowest rate of each training is the share of its rate that it is
/// in the configuration. folder: of the trainings, below the study's; each has its rate behind it.
/// Throws UsageError on a configuration that makes no sense, and Interrupted.
BestRate train_at_best_rate(const StudyContext& context, const task::TaskTrainingConfig& config,
                            const std::vector<double>& rates, double solved,
                            const std::string& name, const std::string& folder);

// A function for each study; all_studies.cpp has their ids and titles.
void mqar(StudyContext& context);
void needle(StudyContext& context);
void stored_bits(StudyContext& context);

}  // namespace tessera::benchmark_study
