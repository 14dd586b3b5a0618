#pragma once

#include <string>
#include <vector>

#include "lab/learner/sequence/task_learner.h"
#include "lab/study/comparison.h"

namespace tessera::benchmark_study {

/// A network that was trained on a task, with the best of the learning rates that were tried.
struct BestRate {
  double rate = 0;
  int64_t tried = 0;  ///< rates
  StudyTraining<task::TaskLearner> training;
};

/// Trains with one rate after the other, until one gives this share of right validation answers;
/// the best training counts. config: with the first rate's lowest rate, in which the others' have
/// their share. folder: of the trainings, below the study's; each has its rate behind it. Throws
/// UsageError on a configuration that makes no sense, and Interrupted.
BestRate train_at_best_rate(const StudyContext& context, const task::TaskTrainingConfig& config,
                            const std::vector<double>& rates, double solved,
                            const std::string& name, const std::string& folder);

}  // namespace tessera::benchmark_study
