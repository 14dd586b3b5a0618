#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/task/sequence/training.h"
#include "tessera/report/study_results.h"

namespace tessera::task {

/// A mean over runs and their standard deviation (0 for one run).
struct MeanScore {
  double mean = 0;
  double deviation = 0;
};

/// One model, trained once for each of some seeds, under the name that pictures and tables give it.
struct TrainedRuns {
  std::string name;
  std::vector<TrainedOnTask> runs;

  /// The test score in the task's metric: see metric_name().
  MeanScore test_score(TargetKind kind) const;
};

/// Updates until an evaluation of the run found at least this share of right answers (percent);
/// none where it never did.
std::optional<int64_t> updates_until(const TrainedOnTask& run, double accuracy);

/// Adds to a report, for models trained on one task: the metric against the updates made, as mean
/// and deviation over the runs, with what chance and trivial strategies reach; a table of sizes,
/// updates, times and test scores; the levels as a table. A run that ended early keeps its last
/// value in the mean. prefix: of the names of pictures and tables, where a report has several
/// tasks.
void add_task_results(const std::vector<TrainedRuns>& models, const SequenceTask& task,
                      StudyResults& results, const std::string& prefix = "");

/// "wrong bits per sequence", "right answers (%)" or "mean absolute error".
std::string metric_name(TargetKind kind);

}  // namespace tessera::task
