#include "tessera/train/detail/training_display.h"

#include <fmt/format.h>

#include "tessera/base/error.h"

namespace tessera {

TrainingDisplay::TrainingDisplay(std::FILE* stream, std::string label, const Learner& learner)
    : stream_(stream), label_(std::move(label)), learner_(learner) {}

void TrainingDisplay::on_start(int64_t step, int64_t steps) {
  step_ = step;
  stepped_ = Clock::now();
  progress_ = std::make_unique<Progress>(stream_, label_, steps, step);
}

void TrainingDisplay::on_step(const StepMetrics& metrics) {
  step_ = metrics.step;
  loss_ = fmt::format("loss {:.3f}, {:.0f} {}/s", metrics.loss, metrics.tokens_per_second,
                      learner_.unit());
  progress_->update(step_, loss_);
  stepped_ = Clock::now();
}

void TrainingDisplay::on_batch_evaluated(int64_t batch, int64_t batches) {
  if (Clock::now() - stepped_ < std::chrono::seconds(1)) return;
  progress_->update(step_, fmt::format("evaluating: batch {} of {}", batch, batches));
}

void TrainingDisplay::on_evaluation(int64_t step, const Metrics& metrics) {
  std::string text;
  for (const auto& [name, label, factor, decimals] : learner_.shown())
    text += fmt::format("{}{} {:.{}f}", text.empty() ? "" : ", ", label, factor * metrics.at(name),
                        decimals);
  progress_->update(step_, loss_);
  progress_->message(fmt::format("{}: step {}: validation: {}", label_, step, text));
}

void TrainingDisplay::on_sample(int64_t step, const std::string& text) {
  progress_->message(fmt::format("{}: step {}: sample: {}", label_, step, text));
}

void TrainingDisplay::show(const std::string& message) {
  if (progress_)
    progress_->message(label_ + ": " + message);
  else if (stream_)
    fmt::print(stream_, "{}: {}\n", label_, message);
}

}  // namespace tessera
