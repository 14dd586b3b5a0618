#include "tessera/memory/mosaic/head_combination.h"

#include <ATen/ATen.h>

#include "tessera/memory/make_linear.h"
#include "tessera/ops/activation_dropout.h"

namespace tessera {

ops::Dropout dropout_of(const MemoryOptions& options, std::optional<uint64_t> seed,
                        DropoutSite site) {
  if (!seed || options.dropout == 0) return {};
  return {options.dropout, 2 * *seed + static_cast<uint64_t>(site)};
}

torch::nn::Linear make_output(const MemoryOptions& options) {
  return make_linear(options.channels, options.channels, options.bias, options.device);
}

at::Tensor combine_heads(const at::Tensor& reads, torch::nn::Linear& output,
                         const MemoryOptions& options, std::optional<uint64_t> dropout_seed) {
  const at::Tensor combined =
      ops::linear(reads.flatten(2), output->weight, output->bias, options.precision);  // [B, T, C]
  return ops::activation_dropout(combined, dropout_of(options, dropout_seed, DropoutSite::kOutput));
}

}  // namespace tessera
