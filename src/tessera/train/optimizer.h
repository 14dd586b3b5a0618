#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/tensor/tensor_file.h"

namespace tessera {

class Processes;

/// Changes parameters by their gradients. The parameters are shared with the caller and changed in
/// place; what the optimiser keeps of each is float, or double where the parameter is.
/// Results do not depend on the number of threads. A parameter without a gradient stays as it is.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Of all gradients together: the root of the sum of squares, summed in double in a fixed order.
  double gradient_norm() const;
  /// The first parameter with a gradient that is not finite; empty where all are.
  std::string parameter_with_bad_gradient() const;
  /// Brings every number of every gradient into [-limit, limit].
  void clip_gradient_values(double limit);
  /// One update. gradient_scale: see clip_scale(). After share() a call that all processes make.
  void step(double learning_rate, double gradient_scale = 1.0);
  /// Forgets the gradients.
  void clear_gradients();

  /// Updates made so far.
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }
  /// What it keeps, shared: writing to the tensors sets the state. is_optimizer_state() knows the
  /// names. After share() a call that all processes make; then the leader gets copies of all, the
  /// others what they keep themselves and undefined tensors.
  NamedTensors state() const;

  /// From here on each process keeps the state of some of the parameters alone, updates these and
  /// sends them to the others (Rajbhandari et al. 2020, section 5.1: stage 1 of ZeRO). The shares
  /// are whole parameters, the longest first to the process that has the fewest numbers. Gradients
  /// and state must be the same in all processes. The results are the same bits as without.
  void share(Processes& processes);

 protected:
  struct Parameter {
    std::string name;
    at::Tensor value;
    at::Tensor first, second;  ///< what the optimiser keeps of it, in its shape
    bool fused;                ///< whether raw loops can take it
    int64_t owner = 0;         ///< after share(): which process updates it

    /// What this process updates it by; undefined where there is nothing, or another process does.
    at::Tensor own_gradient() const { return first.defined() ? value.grad() : at::Tensor(); }
  };
  /// A stretch of one fused parameter that one thread works on.
  struct Block {
    size_t parameter;
    int64_t begin, end;
  };

  /// first, second: what the two tensors kept of each parameter are called in files: "adamw.m".
  /// A tensor that occurs again under another name (tied weights) is one parameter, under its first
  /// name. Throws UsageError on a parameter that is not of a floating type.
  Optimizer(const NamedTensors& parameters, std::string first, std::string second);

  /// One update with steps_ already counted.
  virtual void update(double learning_rate, double gradient_scale) = 0;

  std::vector<Parameter> parameters_;
  std::vector<Block> blocks_;
  int64_t steps_ = 0;

 private:
  void send_shares();

  std::string first_, second_;
  Processes* processes_ = nullptr;  // between which the state is shared
};

/// Whether a tensor of this name in a checkpoint is an optimiser's and not the module's.
bool is_optimizer_state(std::string_view name);

/// What brings a gradient of this norm down to at most `clip` (0: never): min(1, clip / (norm +
/// 1e-6)), as torch's clip_grad_norm_.
double clip_scale(double norm, double clip);

struct AdamWConfig {
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  bool bias_correction = true;  ///< without it, as in Apple's MLX, the powers beta^t below are 0
};

/// AdamW (Loshchilov & Hutter 2019, algorithm 2), in one pass over the memory. With t updates made,
/// rate a, decay d and g the gradient times gradient_scale:
///     m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,
///     p = p (1 - a d) - a / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + epsilon).
/// Parameters of two or more dimensions decay: matrices, embeddings and persistent memories do,
/// gains and per-head scalars [H] do not. In files "adamw.m.NAME" and "adamw.v.NAME". Contiguous
/// float parameters on the CPU take fused loops, others composed tensor functions.
class AdamW : public Optimizer {
 public:
  /// Throws as Optimizer does.
  AdamW(const NamedTensors& parameters, AdamWConfig config);

 private:
  void update(double learning_rate, double gradient_scale) override;

  AdamWConfig config_;
};

struct RmspropConfig {
  double smoothing = 0.99;
  double momentum = 0.9;
  double epsilon = 1e-8;
};

/// RMSprop (Tieleman & Hinton 2012) with momentum, as PyTorch has it. With rate a, smoothing s,
/// momentum u and g the gradient times gradient_scale:
///     v = s v + (1 - s) g^2,  b = u b + g / (sqrt(v) + epsilon),  p = p - a b.
/// With u = 0.9 a steady gradient moves p ten times as fast as without momentum. In files
/// "rmsprop.v.NAME" and "rmsprop.b.NAME".
class Rmsprop : public Optimizer {
 public:
  /// Throws as Optimizer does.
  Rmsprop(const NamedTensors& parameters, RmspropConfig config);

 private:
  void update(double learning_rate, double gradient_scale) override;

  RmspropConfig config_;
};

}  // namespace tessera
