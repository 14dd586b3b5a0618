#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "lab/task/sequence/task_batch.h"
#include "lab/task/sequence/training_config.h"
#include "tessera/model/sequence_model.h"
#include "tessera/train/run_folder.h"

namespace tessera::task {

/// A sequence model after training on a task, and how well it solves it.
struct TrainedOnTask {
  std::shared_ptr<SequenceModel> model;  ///< with the weights of the lowest validation loss
  std::filesystem::path folder;          ///< the run's
  int64_t steps = 0;           ///< updates made; fewer than asked for where it ended early
  double seconds = 0;          ///< of training, in all processes
  double validation_loss = 0;  ///< mean per symbol, as answer_loss() has it, of these weights
  TaskScore test;              ///< on samples that training has not seen
};

/// Trains a sequence model on a task into a run directory: config.toml, manifest.json,
/// metrics.jsonl, checkpoints/ and, after the last step, model/ (the weights with the lowest
/// validation loss). Then measures it on test samples. Progress and evaluations go to `progress`
/// (null: silent). Interrupted after a signal: the same run resumed goes on from there. A resumed
/// run may change what RunFolder::write_configuration allows. Otherwise throws what Trainer::run
/// throws. label: what the progress is called.
TrainedOnTask train_on_task(const TaskTrainingConfig& config, const RunFolder& run,
                            std::FILE* progress, const std::string& label);

}  // namespace tessera::task
