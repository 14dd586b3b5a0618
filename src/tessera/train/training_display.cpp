#include "tessera/train/training_display.h"

#include <fmt/format.h>

#include "tessera/base/error.h"

namespace tessera {

TrainingDisplay::TrainingDisplay(std::FILE* stream, std::string name, Texts texts)
    : stream_(stream), name_(std::move(name)), texts_(std::move(texts)) {}

void TrainingDisplay::on_start(int64_t step, int64_t steps) {
  step_ = step;
  stepped_ = Clock::now();
  progress_ = std::make_unique<Progress>(stream_, name_, steps, step);
}

void TrainingDisplay::on_step(const StepMetrics& metrics) {
  step_ = metrics.step;
  loss_ =
      fmt::format("loss {:.3f}, {:.0f} {}/s", metrics.loss, metrics.tokens_per_second, texts_.unit);
  progress_->update(step_, loss_);
  stepped_ = Clock::now();
}

void TrainingDisplay::on_evaluation(int64_t step, const Metrics& metrics) {
  progress_->update(step_, loss_);
  progress_->message(fmt::format("{}: step {}: {}", name_, step, texts_.evaluation(metrics)));
}

void TrainingDisplay::on_sample(int64_t step, const std::string& text) {
  progress_->message(fmt::format("{}: step {}: sample: {}", name_, step, text));
}

void TrainingDisplay::on_batch_evaluated(int64_t batch, int64_t batches) {
  if (Clock::now() - stepped_ < std::chrono::seconds(1)) return;
  progress_->update(step_, fmt::format("evaluating: batch {} of {}", batch, batches));
}

void TrainingDisplay::show(const std::string& message) {
  if (progress_)
    progress_->message(name_ + ": " + message);
  else if (stream_)
    fmt::print(stream_, "{}: {}\n", name_, message);
}

}  // namespace tessera
