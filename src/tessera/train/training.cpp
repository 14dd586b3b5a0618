#include "tessera/train/learner.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/detail/gradients.h"
#include "tessera/train/metrics_log.h"
#include "tessera/train/processes.h"
#include "tessera/train/trainer.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// Shows a training on a stream: a bar with loss and speed; evaluations, samples and warnings as
/// lines of their own. A null stream keeps it silent.
class TrainingDisplay : public TrainingObserver {
 public:
  TrainingDisplay(std::FILE* stream, std::string label, const Learner& learner)
      : stream_(stream), label_(std::move(label)), learner_(learner) {}

  void on_start(int64_t step, int64_t steps) override {
    step_ = step;
    stepped_ = Clock::now();
    progress_ = std::make_unique<Progress>(stream_, label_, steps, step);
  }

  void on_step(const StepMetrics& metrics) override {
    step_ = metrics.step;
    loss_ = fmt::format("loss {:.3f}, {:.0f} {}/s", metrics.loss, metrics.tokens_per_second,
                        learner_.unit());
    progress_->update(step_, loss_);
    stepped_ = Clock::now();
  }

  void on_batch_evaluated(int64_t batch, int64_t batches) override {
    if (Clock::now() - stepped_ < std::chrono::seconds(1)) return;
    progress_->update(step_, fmt::format("evaluating: batch {} of {}", batch, batches));
  }

  void on_evaluation(int64_t step, const Metrics& metrics) override {
    std::string text;
    for (const auto& [name, label, factor, decimals] : learner_.shown()) {
      const double value = factor * metrics.at(name);
      text +=
          fmt::format("{}{} {}", text.empty() ? "" : ", ", label,
                      std::isnan(value) ? "not a number" : fmt::format("{:.{}f}", value, decimals));
    }
    progress_->update(step_, loss_);
    progress_->message(fmt::format("{}: step {}: validation: {}", label_, step, text));
  }

  void on_sample(int64_t step, const std::string& text) override {
    progress_->message(fmt::format("{}: step {}: sample: {}", label_, step, text));
  }

  void on_warning(const std::string& message) override { show(message); }

  /// A line of its own.
  void show(const std::string& message) {
    const std::string line = label_ + ": " + message;
    if (progress_)
      progress_->message(line);
    else
      tessera::show(stream_, line + "\n");
  }

  /// The training is complete with fewer steps than configured.
  void end_early(const std::string& why) {
    show(why);
    progress_->end_early();
  }

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

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Times, speed, and the evaluation of the weights: after this step, or the best one.
void read_log(Trained& trained, std::optional<int64_t> saved_step) {
  std::vector<double> speeds;
  for (const auto& line : MetricsLog::read(trained.folder / MetricsLog::kFile)) {
    trained.seconds = line.value("elapsed_seconds", trained.seconds);
    if (line.contains("tokens_per_second")) speeds.push_back(line["tokens_per_second"]);
  }
  trained.units_per_second = median(std::move(speeds));
  for (const auto& [step, metrics] : logged_evaluations(trained.folder)) {
    const double best = trained.validation_loss();
    if (step == saved_step || std::isnan(best) || loss_of(metrics) < best)
      trained.validation = metrics;
    if (step == saved_step) break;
  }
}

/// Gives the module the weights of the lowest validation loss (none: its own) and saves them;
/// returns the step that they are of, if it is not the last.
std::optional<int64_t> save_best(Learner& learner, const fs::path& run,
                                 const std::function<void(const std::string&)>& warn) {
  const auto best = Checkpoints(run / "checkpoints", 1).best(warn);
  if (best) best->restore(learner.module());
  learner.module().eval();
  learner.save(run / "model");
  if (!best) return std::nullopt;
  return best->state.step;
}

}  // namespace

double Trained::validation_loss() const {
  return loss_of(validation);
}

Trained train(Learner& learner, const RunFolder& run, std::FILE* progress, const std::string& label,
              Processes* processes) {
  const InterruptGuard guard;
  const FlushDenormals flush_denormals;
  TrainingDisplay display(progress, label, learner);
  Trainer trainer(learner, run.path(), &display, processes);
  const int64_t before =
      run.write_configuration(learner, processes == nullptr ? 1 : processes->count());
  const TrainConfig& config = learner.training();
  if (config.steps > before && config.decay_steps == 0 &&
      config.min_learning_rate < config.learning_rate)
    display.show(fmt::format(
        "train.steps was {} and is {}; because train.decay_steps is 0, the learning rate now falls "
        "until step {}",
        before, config.steps, config.steps));
  const TrainingResult result = trainer.run(run.start());

  if (!result.early_end.empty())
    display.end_early(fmt::format("ended after step {} of {}: {}", result.step,
                                  learner.training().steps, result.early_end));
  display.show(fmt::format("saving the weights of the best evaluation in {}",
                           (run.path() / "model").native()));
  display.finish();
  const auto saved_step = save_best(
      learner, run.path(), [&](const std::string& warning) { display.on_warning(warning); });
  Trained trained;
  trained.folder = run.path();
  trained.steps = result.step;
  read_log(trained, saved_step);
  if (result.evaluation_is_missing)
    trained.missing.push_back("the validation loss after the last step");
  try {
    const at::NoGradGuard no_grad;
    trained.test = learner.test(progress);
  } catch (const Interrupted& stopped) {
    trained.missing.push_back(stopped.what());
  }
  return trained;
}

}  // namespace tessera
