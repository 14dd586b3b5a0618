#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tessera/train/learner.h"
#include "tessera/train/run_folder.h"

namespace tessera {

class Processes;

/// What came of a training. Times and speed are those of all processes that the run had.
struct Trained {
  std::filesystem::path folder;  ///< the run's
  int64_t steps = 0;             ///< updates made; fewer than configured where it ended early
  double seconds = 0;            ///< of training
  double units_per_second = 0;   ///< median over updates
  Metrics validation;            ///< of the weights that were kept; empty: not measured
  Metrics test;                  ///< of the same weights; empty where the learner has no test
  /// What a signal after the last step kept from being measured; a resumed run measures it.
  std::vector<std::string> missing;

  /// NaN: not measured.
  double validation_loss() const;
};

/// Trains a learner into a run directory: config.toml, manifest.json, metrics.jsonl, checkpoints/
/// and, after the last step, model/: the weights with the lowest validation loss, which the module
/// then has. Then tests it. Progress, evaluations and samples go to `progress` (null: silent),
/// under the name `label`. A signal before the last step: Interrupted, after a checkpoint was
/// saved; the same run resumed goes on from there. One after it: the model is saved, and the result
/// names what is missing. A resumed run may change what RunFolder::write_configuration allows.
/// While it runs, denormal numbers count as 0 on x86-64, in the threads of parallel regions too.
/// Otherwise throws what Trainer::run throws. processes: leads these, which call help_training();
/// null: none.
Trained train(Learner& learner, const RunFolder& run, std::FILE* progress, const std::string& label,
              Processes* processes = nullptr);

}  // namespace tessera
