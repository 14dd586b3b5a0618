#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/train/optimizer.h"

namespace tessera {

struct AdamWConfig {
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  bool bias_correction = true;  ///< without it, as in Apple's MLX, the powers beta^t below are 0
};

/// Whether a parameter decays: whether it has two or more dimensions. Matrices, embeddings and
/// persistent memories do; gains and per-head scalars [H] do not.
bool decays_by_dimension(const std::string& name, const at::Tensor& parameter);

/// AdamW (Loshchilov & Hutter 2019, algorithm 2), in one pass over the memory. With t updates made,
/// rate a, decay d and g the gradient times gradient_scale:
///     m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,
///     p = p (1 - a d) - a / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + epsilon).
/// In files "adamw.m.NAME" and "adamw.v.NAME".
class AdamW : public Optimizer {
 public:
  using DecayRule = std::function<bool(const std::string& name, const at::Tensor& parameter)>;

  /// Throws as Optimizer does.
  AdamW(const NamedTensors& parameters, AdamWConfig config,
        const DecayRule& decays = decays_by_dimension);

 private:
  void update(double learning_rate, double gradient_scale) override;

  AdamWConfig config_;
  std::vector<bool> decays_;  // of each parameter
};

}  // namespace tessera
