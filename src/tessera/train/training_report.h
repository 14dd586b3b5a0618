#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/statistics.h"
#include "tessera/report/study_results.h"
#include "tessera/train/learner.h"

namespace tessera {

/// One learner, trained once for each of some seeds, under the name that pictures and tables give
/// it.
struct TrainedRuns {
  std::string name;
  int64_t parameters = 0;
  std::vector<Trained> runs;
  int64_t batch = 1;  ///< sequences in one update

  /// What the tests found, as it is shown; what the evaluations found where there were no tests.
  Spread score(const ShownMetric& metric) const;
};

/// Updates until an evaluation of the run found at least `value`, as it is shown; none where it
/// never did.
std::optional<int64_t> updates_until(const Trained& run, const ShownMetric& metric, double value);

/// Adds to a report what a signal kept from being measured of a run, if anything.
void add_missing(const std::string& name, const Trained& run, StudyResults& results);

/// Adds to a report, for learners that are measured alike: the first metric against the updates
/// made, or the sequences seen where batches differ, as mean and deviation over the runs, with what
/// trivial strategies reach; a table of sizes, updates, times and scores; the trivial strategies as
/// a table. A run that ended early keeps its last value in the mean. prefix: of the names of
/// pictures and tables.
void add_training_results(const std::vector<TrainedRuns>& learners,
                          const std::vector<ShownMetric>& shown,
                          const std::vector<TrivialScore>& trivial, StudyResults& results,
                          const std::string& prefix = "");

}  // namespace tessera
