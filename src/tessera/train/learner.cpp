#include "tessera/train/learner.h"

#include <nlohmann/json.hpp>

#include "tessera/tensor/device.h"
#include "tessera/train/shared_training.h"
#include "tessera/train/training_report.h"

namespace tessera {

Learner::Learner(const TrainConfig& training) : training_(training) {
  training_.check();
  named_device(training_.device);
}

int64_t Learner::parameter_count() {
  int64_t count = 0;
  for (const auto& parameter : module().parameters()) count += parameter.numel();
  return count;
}

config::Json Learner::step_events() {
  return config::Json::object();
}

void Learner::check_shares(int64_t processes) const {
  tessera::check_shares(training_, processes);
}

void Learner::add_results(const Trained& trained, StudyResults& results) {
  add_training_results({{name(), parameter_count(), {trained}}}, shown(), trivial_scores(),
                       results);
}

}  // namespace tessera
