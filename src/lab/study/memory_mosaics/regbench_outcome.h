#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/learner/regbench/regbench_learner.h"
#include "lab/study/comparison.h"

/// What study memory-mosaics/regbench shows of its trainings.
namespace tessera::memory_mosaics_study {

/// A score as the paper has it; NaN where it has none.
struct PublishedScore {
  double accuracy = ResultPoint::kNone;
  double distance = ResultPoint::kNone;
};

/// What a model came to with so many languages.
struct RegBenchOutcome {
  std::string name;
  task::RegBenchTrainingConfig config;  ///< of the trial with the lowest validation loss
  StudyTraining<task::RegBenchLearner> training;
  int64_t trials = 0;
  PublishedScore published;

  bool is_on_new_languages() const {
    return config.data.measured_on == task::MeasuredOn::kNewLanguages;
  }
};

/// Adds the two panels of figure 9 with what counting in the sequences scores, a table for new
/// languages and one for trained languages, and every published number beside ours.
void add_regbench_outcomes(const std::vector<RegBenchOutcome>& outcomes, StudyResults& results);

}  // namespace tessera::memory_mosaics_study
