#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tessera/base/config.h"
#include "tessera/tensor/device.h"
#include "tessera/train/optimizer.h"

namespace tessera {

/// Along what the learning rate falls: half a cosine, or a line.
enum class Decay { kCosine, kLinear };
constexpr std::array<std::string_view, 2> enum_names(Decay) {
  return {"cosine", "linear"};
}

/// How the learning rate goes over a training: up in a line, down along half a cosine, then level
/// (Loshchilov & Hutter 2017, one period; with the warm-up of the Memory Mosaics experiments). Or
/// down in a line.
struct Schedule {
  double learning_rate;      ///< at the top
  double min_learning_rate;  ///< from decay_steps on
  int64_t warmup_steps;      ///< 0: starts at the top
  int64_t decay_steps;       ///< the step that first has the minimum; above warmup_steps
  Decay decay = Decay::kCosine;

  /// The rate of the update that has `step` updates before it:
  ///     step < warmup_steps    learning_rate * step / warmup_steps
  ///     step <= decay_steps    min + (learning_rate - min) * (1 + cos(pi * share)) / 2, or
  ///                            min + (learning_rate - min) * (1 - share),
  ///                            share = (step - warmup_steps) / (decay_steps - warmup_steps)
  ///     later                  min_learning_rate
  /// So the first update of a warm-up has the rate 0: it moves no weight and only starts the
  /// moments, as in the reference. Throws UsageError where step < 0.
  double at(int64_t step) const;
};

enum class OptimizerKind { kAdamW, kRmsprop };
constexpr std::array<std::string_view, 2> enum_names(OptimizerKind) {
  return {"adamw", "rmsprop"};
}

/// The numbers in which gradients go from process to process.
enum class WirePrecision {
  kFloat32,   ///< as they are: doubles stay doubles
  kBFloat16,  ///< rounded twice, once before they are added up in float and once after
};
constexpr std::array<std::string_view, 2> enum_names(WirePrecision) {
  return {"fp32", "bf16"};
}

/// The [train] table of a run's configuration. Defaults: a small model on a small machine.
struct TrainConfig {
  int64_t steps = 1000;
  int64_t batch = 8;
  int64_t accumulation = 1;
  double learning_rate = 1e-3;
  double min_learning_rate = 1e-4;
  int64_t warmup_steps = 100;
  int64_t decay_steps = 0;
  Decay decay = Decay::kCosine;
  double halve_loss = 0.0;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  bool bias_correction = true;
  double smoothing = 0.99;
  double momentum = 0.9;
  double epsilon = 1e-8;
  double clip = 1.0;
  double clip_value = 0.0;
  int64_t evaluate_every = 250;
  int64_t evaluate_batches = 10;
  int64_t patience = 0;
  double stop_loss = 0.0;
  int64_t checkpoint_every = 250;
  int64_t keep_checkpoints = 2;
  int64_t sample_every = 0;
  bool tensorboard = false;
  bool csv = false;
  bool share_optimizer = false;
  WirePrecision wire_precision = WirePrecision::kFloat32;
  uint64_t seed = 1337;
  std::string device = "cpu";
  int64_t threads = 0;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("steps", steps, "number of updates of the weights", config::at_least(1));
    field("batch", batch, "sequences in one micro-batch", config::between(1, 65536));
    field("accumulation", accumulation, "micro-batches whose mean gradient makes one update",
          config::between(1, 1e6));
    field("learning_rate", learning_rate, "learning rate at the end of the warm-up",
          config::above(0));
    field("min_learning_rate", min_learning_rate, "learning rate at the end of the decay");
    field("warmup_steps", warmup_steps, "updates in which the learning rate rises from 0",
          config::at_least(0));
    field("decay_steps", decay_steps,
          "update at which min_learning_rate is reached (0: the last one)", config::at_least(0));
    field("decay", decay, "how the learning rate falls");
    field("halve_loss", halve_loss,
          "validation loss below which the learning rate is halved, once (0: never)",
          config::at_least(0));
    field("optimizer", optimizer, "how gradients become updates");
    field("weight_decay", weight_decay,
          "AdamW: weight decay of tensors with two or more dimensions", config::at_least(0));
    field("beta1", beta1, "AdamW: decay of the mean gradient", config::below(1));
    field("beta2", beta2, "AdamW: decay of the mean squared gradient", config::below(1));
    field("bias_correction", bias_correction,
          "AdamW: whether both means are corrected for starting at 0");
    field("smoothing", smoothing, "RMSprop: decay of the mean squared gradient", config::below(1));
    field("momentum", momentum, "RMSprop: momentum of the update", config::below(1));
    field("epsilon", epsilon, "added to the divisor of the optimiser, so that it is not 0",
          config::above(0));
    field("clip", clip, "maximum norm of the gradient (0: no limit)", config::at_least(0));
    field("clip_value", clip_value,
          "maximum size of each number of the gradient, before clip (0: no limit)",
          config::at_least(0));
    field("evaluate_every", evaluate_every, "updates between evaluations (0: only at the end)",
          config::at_least(0));
    field("evaluate_batches", evaluate_batches, "batches of one evaluation",
          config::between(1, 1e12));
    field("patience", patience,
          "evaluations without a new best loss after which training ends (0: never)",
          config::at_least(0));
    field("stop_loss", stop_loss, "validation loss at which training ends (0: never)",
          config::at_least(0));
    field("checkpoint_every", checkpoint_every, "updates between checkpoints (0: only at the end)",
          config::at_least(0));
    field("keep_checkpoints", keep_checkpoints,
          "latest checkpoints that are kept, besides the best one", config::at_least(1));
    field("sample_every", sample_every, "updates between samples of the output (0: none)",
          config::at_least(0));
    field("tensorboard", tensorboard,
          "whether metrics.jsonl is also written as events for TensorBoard, in tensorboard/");
    field("csv", csv, "whether metrics.jsonl is also written as metrics.csv");
    field("share_optimizer", share_optimizer,
          "several processes: whether each keeps only a share of the optimiser's state, to save "
          "memory");
    field("wire_precision", wire_precision,
          "several processes: number format in which they send gradients");
    field("seed", seed, "random seed of the training");
    field("device", device, kDeviceHelp);
    field("threads", threads, "processor threads (0: those of --threads)");
  }

  /// Throws UsageError on values that make no sense together. where: prefix for messages.
  void check(std::string_view where = "train") const;
  /// With decay_steps = 0 read as the last step.
  Schedule schedule() const;
  std::unique_ptr<Optimizer> make_optimizer(const NamedTensors& parameters) const;
};

}  // namespace tessera
