#include "tessera/ops/activation_dropout.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "tessera/ops/cpu/dropout_hash.h"

namespace tessera::ops {
namespace {

constexpr int64_t kRowsPerTask = 64;

/// dropout_factors for [1, 1, rows, columns], without its integer tensors.
at::Tensor fused_factors(const Dropout& dropout, int64_t rows, int64_t columns) {
  at::Tensor factors = at::empty({rows, columns}, at::kFloat);
  float* out = factors.data_ptr<float>();
  const uint32_t head_key = cpu::dropout_head_key(dropout.seed, 0, 0);
  const uint32_t threshold = cpu::dropout_threshold(dropout.probability);
  const float kept = static_cast<float>(1.0 / (1.0 - dropout.probability));
  at::parallel_for(0, rows, kRowsPerTask, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const uint32_t row_key = cpu::dropout_row_key(head_key, row);
      float* to = out + row * columns;
      for (int64_t column = 0; column < columns; ++column) {
        const uint32_t word = cpu::mix32(row_key + static_cast<uint32_t>(column) * cpu::kPairStep);
        to[column] = word >= threshold ? kept : 0.0f;
      }
    }
  });
  return factors;
}

}  // namespace

at::Tensor activation_dropout(const at::Tensor& x, const Dropout& dropout) {
  check_dropout(dropout, "activation_dropout");
  if (dropout.probability == 0 || x.numel() == 0) return x;
  const int64_t columns = x.size(-1), rows = x.numel() / columns;
  const bool fused = x.device().is_cpu() && x.scalar_type() == at::kFloat;
  const at::Tensor factors = fused ? fused_factors(dropout, rows, columns)
                                   : dropout_factors(dropout, 1, 1, 0, rows, columns, x.options());
  return x * factors.view(x.sizes());
}

}  // namespace tessera::ops
