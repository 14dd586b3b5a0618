#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "tessera/memory/mosaic/memory_options.h"
#include "tessera/ops/cpu/memory_step.h"

namespace tessera {

/// Keys of a memory unit: a linear map, its leaky average over time, normalised and scaled per head
/// (Zhang et al. 2024, eq. 6; the scale is the square root of the kernel bandwidth β).
class KeyExtractorImpl : public torch::nn::Module {
 public:
  /// scale_power: 1 where keys meet keys, 2 where they meet slots that carry no scale.
  KeyExtractorImpl(const MemoryOptions& options, int scale_power);

  struct Keys {
    at::Tensor keys;           ///< [B, T, H, D]
    at::Tensor leaky_average;  ///< [B, H, D], after the last step: what the next step goes on from
  };
  /// x [B, T, C], T > 0; leaky_average [B, H, D] goes on from an earlier call, undefined starts at
  /// 0.
  Keys forward(const at::Tensor& x, const at::Tensor& leaky_average = {});

  /// One step as the loop of a unit's step does it: from the last leaky average (undefined starts
  /// at 0) to the next and the key, all [B, H, D]. The tensors must outlive it.
  cpu::KeyStep step_loop(const at::Tensor& last_leaky_average, const at::Tensor& leaky_average,
                         const at::Tensor& key) const;

  /// Gives the per-head scalars their initial values.
  void reset_scalars();
  /// λ per head [H] in (0, 1]: exp(-|leak|).
  at::Tensor decay() const;
  /// Factor of the normalised keys, [H].
  at::Tensor scale() const;

  torch::nn::Linear projection = nullptr;
  at::Tensor leak;       ///< [H], stored divided by kScalarScaling
  at::Tensor log_scale;  ///< [H], stored divided by kScalarScaling

 private:
  double scale_cap() const;

  MemoryOptions options_;
  int scale_power_;
};
TORCH_MODULE(KeyExtractor);

}  // namespace tessera
