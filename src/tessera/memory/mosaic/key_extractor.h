#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "tessera/memory/mosaic/memory_options.h"
#include "tessera/ops/key_value_extraction.h"

namespace tessera {

/// Keys of a memory unit: a linear map, its leaky average over time, normalised and scaled per head
/// (Zhang et al. 2024, eq. 6; the scale is the square root of the kernel bandwidth β).
class KeyExtractorImpl : public torch::nn::Module {
 public:
  /// scale_power: 1 where keys are compared with keys, 2 where with slots, which have no scale.
  KeyExtractorImpl(const MemoryOptions& options, int scale_power);

  /// x [B, T, C], T > 0; leaky_average [B, H, D] is that of an earlier call, undefined starts at 0.
  ops::Keys forward(const at::Tensor& x, const at::Tensor& leaky_average = {});

  /// The parameters as the ops take them; shared, so that changes are seen.
  ops::KeyParameters parameters_for_ops() const;

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
