#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace tessera {

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

}  // namespace tessera
