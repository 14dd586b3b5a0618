#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/tensor/tensor_file.h"
#include "tessera/train/optimizer.h"

namespace tessera {

/// What a training needs to continue, besides tensors.
struct TrainingState {
  int64_t step = 0;
  uint64_t seed = 0;
  std::string digest;
  double elapsed_seconds = 0.0;
  std::optional<double> validation_loss, best_validation_loss;
  int64_t evaluations_since_best = 0;
  bool evaluation_is_missing = false, sample_is_missing = false;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("step", step, "updates made", config::Demand{.least = 0, .required = true});
    field("seed", seed, "of the run", config::required());
    field("digest", digest, "of the configuration; see Learner", config::required());
    field("elapsed_seconds", elapsed_seconds, "of training so far, in all processes",
          config::Demand{.least = 0, .required = true});
    field("validation_loss", validation_loss, "of the evaluation after this very step",
          config::required());
    field("best_validation_loss", best_validation_loss, "of all evaluations so far",
          config::required());
    field("evaluations_since_best", evaluations_since_best, "that found no lower validation loss",
          config::below(1e18));
    field("evaluation_is_missing", evaluation_is_missing, "a signal cut it short after this step");
    field("sample_is_missing", sample_is_missing, "a signal cut it short after this step");
  }
};

/// The parameters of a module that learn, by name.
NamedTensors trainable_parameters(const torch::nn::Module& module);

/// One file checkpoints/step-00001000.safetensors: the module's parameters and buffers under their
/// own names, what the optimiser keeps (of AdamW "adamw.m.<name>" and "adamw.v.<name>"), and in the
/// metadata the state (JSON under "training") and a checksum of everything ("checksum").
struct Checkpoint {
  TrainingState state;
  TensorFile file;

  /// Throws SystemError, or DataError where the file is damaged or no checkpoint.
  static Checkpoint load(const std::filesystem::path& path);
  /// Copies parameters and buffers into the module, and the rest and the step into the optimizer.
  /// Throws DataError where a tensor is missing, too many or of another shape, with its name and
  /// both shapes; then nothing is changed.
  void restore(torch::nn::Module& module, Optimizer& optimizer) const;
  /// The parameters and buffers alone.
  void restore(torch::nn::Module& module) const;
};

/// The checkpoints of a run: the latest few and the one with the lowest validation loss.
class Checkpoints {
 public:
  /// keep: how many of the latest stay, at least 1.
  Checkpoints(std::filesystem::path folder, int64_t keep);

  /// Writes one atomically, then removes those that are neither among the latest nor the best.
  /// Throws SystemError (disk full); the earlier ones are then still there.
  std::filesystem::path save(const torch::nn::Module& module, const Optimizer& optimizer,
                             const TrainingState& state);

  /// The latest that can be read, or nothing where there is none. A damaged one is set aside (its
  /// name gets ".damaged") after `warn` was told, and the one before is taken. Throws DataError
  /// where there are some and all are damaged.
  std::optional<Checkpoint> latest(const std::function<void(const std::string&)>& warn);
  /// The one with the lowest validation loss, or nothing where none has such a loss and can be
  /// read. A damaged one is set aside as latest() does, and the next best is taken.
  std::optional<Checkpoint> best(const std::function<void(const std::string&)>& warn);
  /// The path of the one with the lowest validation loss among those that have one.
  std::optional<std::filesystem::path> best_path() const;
  /// The step of the last one, 0 where there is none.
  int64_t last_step() const;
  /// From the earliest to the latest step.
  std::vector<std::filesystem::path> paths() const;

 private:
  void remove_old() const;

  std::filesystem::path folder_;
  int64_t keep_;
};

}  // namespace tessera
