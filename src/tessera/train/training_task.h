#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "tessera/train/adamw.h"

namespace tessera {

class Processes;

/// Names and values of one evaluation. "loss" is the one that ranks checkpoints.
using Metrics = std::map<std::string, double>;

/// One line of metrics.jsonl.
struct StepMetrics {
  int64_t step = 0;            ///< updates made, this one included
  int64_t tokens = 0;          ///< seen so far
  double loss = 0.0;           ///< mean over the micro-batches, before the update
  double learning_rate = 0.0;  ///< of this update
  double gradient_norm = 0.0;  ///< before it is clipped
  double tokens_per_second = 0.0;
  double elapsed_seconds = 0.0;  ///< since the run began, in all its processes
};

/// Told what happens, in this order within a step; the default does nothing.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  /// step: updates already made.
  virtual void on_start(int64_t step, int64_t steps) {}
  virtual void on_step(const StepMetrics& metrics) {}
  virtual void on_evaluation(int64_t step, const Metrics& metrics) {}
  virtual void on_sample(int64_t step, const std::string& text) {}
  virtual void on_checkpoint(int64_t step, const std::filesystem::path& path) {}
  virtual void on_warning(const std::string& message) {}
};

/// What is trained, and on what. Everything random in it must be a function of its arguments, of
/// the configured seed and of LibTorch's default generator, which the trainer seeds from
/// (seed, step, micro-batch) before each call: then a resumed run repeats the uninterrupted one bit
/// for bit.
struct TrainingTask {
  torch::nn::Module& module;
  /// The mean loss (a scalar with a graph behind it) of one micro-batch. step: updates made before
  /// this one, 0 for the first; micro_batch: 0 … accumulation - 1. The trainer reads the losses of
  /// one step from their device once.
  std::function<at::Tensor(int64_t step, int64_t micro_batch)> loss;
  /// Called without gradients and with the module in evaluation mode; may be empty. May throw
  /// Interrupted after a signal: the step is then saved without it, and a resumed run begins with
  /// it.
  std::function<Metrics()> evaluate;
  /// A text that shows what the module can do after `step` updates, for the log and the display.
  /// Called as `evaluate` is, and may be empty; after Interrupted there is no sample of this step.
  std::function<std::string(int64_t step)> sample;
  /// Tokens (or other units of work) of one update, for the counts in the metrics.
  int64_t tokens_per_step = 0;
  /// Names model and data; a checkpoint with another digest is not resumed.
  std::string digest;
  AdamW::DecayRule decays = decays_by_dimension;
  /// With which other processes the micro-batches of an update are shared; null: none.
  Processes* processes = nullptr;
};

}  // namespace tessera
