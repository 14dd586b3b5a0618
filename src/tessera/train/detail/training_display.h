#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "tessera/base/progress.h"
#include "tessera/train/learner.h"
#include "tessera/train/trainer.h"

namespace tessera {

/// Shows a training on a stream: a bar with loss and speed; evaluations, samples and warnings as
/// lines of their own. A null stream keeps it silent.
class TrainingDisplay : public TrainingObserver {
 public:
  TrainingDisplay(std::FILE* stream, std::string label, const Learner& learner);

  void on_start(int64_t step, int64_t steps) override;
  void on_step(const StepMetrics& metrics) override;
  void on_batch_evaluated(int64_t batch, int64_t batches) override;
  void on_evaluation(int64_t step, const Metrics& metrics) override;
  void on_sample(int64_t step, const std::string& text) override;
  void on_warning(const std::string& message) override { show(message); }

  /// A line of its own.
  void show(const std::string& message);
  /// Ends the bar.
  void finish() { progress_.reset(); }

 private:
  using Clock = std::chrono::steady_clock;

  std::FILE* stream_;
  std::string label_;
  const Learner& learner_;
  std::unique_ptr<Progress> progress_;
  int64_t step_ = 0;
  std::string loss_;
  Clock::time_point stepped_;  // when the last step ended
};

}  // namespace tessera
