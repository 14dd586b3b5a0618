#include "tessera/memory/detail/output_projection.h"

#include <ATen/ATen.h>

#include "tessera/memory/make_linear.h"

namespace tessera {

ops::Dropout dropout_at(DropoutSite site, const MemoryOptions& options,
                        std::optional<uint64_t> seed) {
  if (!seed || options.dropout == 0) return {};
  return {options.dropout, 2 * *seed + static_cast<uint64_t>(site)};
}

at::Tensor project_output(const at::Tensor& reads, torch::nn::Linear& projection,
                          const MemoryOptions& options, std::optional<uint64_t> dropout_seed) {
  const at::Tensor y = mapped(reads.flatten(2), projection, options.precision);  // [B, T, C]
  return ops::activation_dropout(y, dropout_at(DropoutSite::kOutput, options, dropout_seed));
}

}  // namespace tessera
