#pragma once

#include "tessera/train/optimizer.h"

namespace tessera {

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
