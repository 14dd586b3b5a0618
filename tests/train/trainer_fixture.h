#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/train/metrics_log.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/tiny_training.h"

namespace tessera::test {

/// Writes down what it is told, and raises a signal after the step that it was given.
struct Recorder : TrainingObserver {
  std::string events;
  std::vector<std::string> warnings;
  std::vector<StepMetrics> steps;
  int64_t interrupt_after = -1;

  void on_start(int64_t step, int64_t) override { events += "<" + std::to_string(step); }
  void on_step(const StepMetrics& metrics) override {
    steps.push_back(metrics);
    events += " " + std::to_string(metrics.step);
    if (metrics.step == interrupt_after) std::raise(SIGINT);
  }
  void on_evaluation(int64_t, const Metrics&) override { events += "e"; }
  void on_sample(int64_t, const std::string&) override { events += "s"; }
  void on_checkpoint(int64_t, const std::filesystem::path&) override { events += "c"; }
  void on_warning(const std::string& message) override { warnings.push_back(message); }
};

struct TrainerTest : ::testing::Test {
  TemporaryFolder folder;
  TrainConfig config = tiny_config();

  /// Trains a fresh network in a folder; what it ends with.
  at::Tensor train(const std::string& name, Start start, Recorder* recorder = nullptr) {
    TinyNetwork network;
    TinyLearner learner(network, config);
    run(learner, name, start, recorder);
    return weights_of(network);
  }
  TrainingResult run(Learner& learner, const std::string& name, Start start,
                     Recorder* recorder = nullptr) {
    return Trainer(learner, folder / name, recorder).run(start);
  }
  /// The same with evaluations that find these losses, one after another; a resumed run goes on in
  /// the list.
  TrainingResult run_with_losses(const std::vector<double>& losses, const std::string& name,
                                 Start start, Recorder* recorder = nullptr) {
    TinyNetwork network;
    TinyLearner learner(network, config);
    learner.evaluation = evaluations_with(losses);
    return run(learner, name, start, recorder);
  }
  std::vector<int64_t> logged_steps(const std::string& name) {
    std::vector<int64_t> steps;
    for (const auto& line : MetricsLog::read(folder / name / "metrics.jsonl"))
      if (line["kind"] == "step") steps.push_back(line["step"].get<int64_t>());
    return steps;
  }
};

/// The lines of a log without what depends on the clock.
inline std::vector<std::string> timeless_lines(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  for (auto line : MetricsLog::read(path)) {
    line.erase("elapsed_seconds");
    line.erase("tokens_per_second");
    lines.push_back(line.dump());
  }
  return lines;
}

}  // namespace tessera::test
