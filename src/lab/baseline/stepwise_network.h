#pragma once

#include "lab/baseline/recurrent_network.h"

namespace tessera {

/// A recurrent network whose steps can only be computed one after another, but for what depends on
/// the inputs alone.
class StepwiseNetwork : public RecurrentNetwork {
 protected:
  using RecurrentNetwork::RecurrentNetwork;

  /// What the steps need of their inputs, for all of them at once: x [T, B, in] -> [T, B, P].
  virtual at::Tensor project(const at::Tensor& x) = 0;
  /// One step: projected [B, P] of its input -> features [B, F]. The state becomes the next one.
  virtual at::Tensor advance(const at::Tensor& projected, Parts& state) = 0;

  at::Tensor run(const at::Tensor& x, Parts& state, int64_t first_output) override;
};

}  // namespace tessera
