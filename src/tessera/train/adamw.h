#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tessera/tensor/tensor_file.h"

namespace tessera {

struct AdamWConfig {
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
};

/// Whether a parameter decays: whether it has two or more dimensions. Matrices, embeddings and
/// persistent memories do; gains and per-head scalars [H] do not.
bool decays_by_dimension(const std::string& name, const at::Tensor& parameter);

/// AdamW (Loshchilov & Hutter 2019, algorithm 2), in one pass over the memory. With t updates made,
/// rate a, decay d and g the gradient times gradient_scale:
///     m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,
///     p = p (1 - a d) - a / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + epsilon).
/// The parameters are shared with the caller and changed in place; the moments are float, or double
/// where the parameter is. Contiguous float and double parameters on the CPU take fused loops,
/// others composed tensor functions. Results do not depend on the number of threads.
/// A parameter without a gradient stays as it is.
class AdamW {
 public:
  using DecayRule = std::function<bool(const std::string& name, const at::Tensor& parameter)>;

  /// A tensor that occurs again under another name (tied weights) is one parameter, under its first
  /// name. Throws c10::ValueError on a parameter that is not of a floating type.
  AdamW(const NamedTensors& parameters, AdamWConfig config,
        const DecayRule& decays = decays_by_dimension);

  /// Of all gradients together: the root of the sum of squares, summed in double in a fixed order.
  double gradient_norm() const;
  /// The first parameter with a gradient that is not finite; empty where all are.
  std::string parameter_with_bad_gradient() const;
  /// One update. gradient_scale: see clip_scale().
  void step(double learning_rate, double gradient_scale = 1.0);
  /// Forgets the gradients.
  void clear_gradients();

  /// Updates made so far.
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }
  /// "adamw.m.<name>" and "adamw.v.<name>", shared: writing to them sets the state.
  NamedTensors state() const;

 private:
  struct Parameter {
    std::string name;
    at::Tensor value, m, v;
    bool decays;
    bool fused;
  };
  /// A stretch of one parameter that one thread works on.
  struct Block {
    size_t parameter;
    int64_t begin, end;
  };

  AdamWConfig config_;
  std::vector<Parameter> parameters_;
  std::vector<Block> blocks_;
  int64_t steps_ = 0;
};

/// What brings a gradient of this norm down to at most `clip` (0: never): min(1, clip / (norm +
/// 1e-6)), as torch's clip_grad_norm_.
double clip_scale(double norm, double clip);

}  // namespace tessera
