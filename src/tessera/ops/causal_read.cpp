#include "tessera/ops/causal_read.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "tessera/ops/detail/dispatch.h"
#include "tessera/ops/detail/fused_read.h"
#include "tessera/ops/memory_read.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

at::Tensor composed(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                    const CausalReadOptions& options) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  const int64_t B = queries.size(0), T = queries.size(1), H = queries.size(2), N = keys.size(1);
  const int64_t first = std::clamp<int64_t>(options.lag, 0, T);  // those before have no pairs
  const at::Tensor q = queries.narrow(1, first, T - first).transpose(1, 2);  // [B, H, rows, D]
  const at::Tensor k = keys.transpose(1, 2);                                 // [B, H, N, D]
  at::Tensor scores = rounded_matmul(q * options.scale, k.transpose(2, 3), options.precision);
  const auto whole = q.options().dtype(at::kLong);  // a short float has no number above 256
  const at::Tensor distances =
      at::arange(first, T, whole).unsqueeze(1) - at::arange(N, whole);  // t - i
  if (options.alibi_slopes.defined())
    scores = scores - options.alibi_slopes.view({-1, 1, 1}) * distances;
  scores = scores.masked_fill(distances < options.lag, kNothing);
  if (options.window > 0)
    scores = scores.masked_fill(distances >= options.lag + options.window, kNothing);
  at::Tensor weights = scores.softmax(-1);
  if (options.dropout.probability > 0)
    weights =
        weights * dropout_factors(options.dropout, B, H, first, T - first, N, weights.options());
  const at::Tensor read = rounded_matmul(weights, values.transpose(1, 2), options.precision);
  return at::cat({at::zeros({B, first, H, values.size(3)}, read.options()), read.transpose(1, 2)},
                 1);
}

/// Whether LibTorch's own attention is this read: it hides the future and nothing else, and draws a
/// dropout of its own.
bool is_plain_attention(const at::Tensor& queries, const at::Tensor& keys,
                        const CausalReadOptions& options) {
  return torch_attention_runs(queries) && keys.size(1) == queries.size(1) &&
         (options.lag == 0 || options.lag == 1) && queries.size(1) > options.lag &&
         options.window == 0 && !options.alibi_slopes.defined() && options.dropout.probability == 0;
}

/// The read as attention, its pairs shifted by the lag.
at::Tensor plain_attention(const at::Tensor& queries, const at::Tensor& keys,
                           const at::Tensor& values, const CausalReadOptions& options) {
  const int64_t lag = options.lag, rows = queries.size(1) - lag;
  const auto from = [&](const at::Tensor& x, int64_t first) {
    return x.narrow(1, first, rows).transpose(1, 2);  // [B, H, rows, D]
  };
  const at::Tensor read = torch_attention(from(queries, lag), from(keys, 0), from(values, 0),
                                          options.scale, /*causal=*/true, options.precision);
  return at::cat({at::zeros_like(values.narrow(1, 0, lag)), read.transpose(1, 2)}, 1);
}

/// 2^(-8/count), 2^(-16/count), …, 2^-8.
at::Tensor geometric(int64_t count) {
  return at::pow(2.0, at::arange(1, count + 1, at::kDouble) * (-8.0 / static_cast<double>(count)));
}

}  // namespace

at::Tensor causal_read(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                       const CausalReadOptions& options) {
  if (weight_type(keys) != WeightType::kFloat32 && keys.scalar_type() != queries.scalar_type()) {
    if (loops_run({queries, options.alibi_slopes}) && !needs_gradient({queries}))
      return fused_read(queries, keys, values, options);
    return causal_read(queries, as_multiplied_by(queries, keys), as_multiplied_by(queries, values),
                       options);
  }
  if (loops_run({queries, keys, values, options.alibi_slopes}))
    return fused_read(queries, keys, values, options);
  if (is_plain_attention(queries, keys, options))
    return plain_attention(queries, keys, values, options);
  return composed(queries, keys, values, options);
}

at::Tensor kernel_smoothing(const at::Tensor& keys, const at::Tensor& values,
                            const Dropout& dropout, Precision precision) {
  check_sequence(keys, "kernel_smoothing: keys");
  check_like(values, {keys.size(0), keys.size(1), keys.size(2), keys.size(3)}, keys,
             "kernel_smoothing: values");
  check_dropout(dropout, "kernel_smoothing");
  return causal_read(keys, keys, values, {.lag = 1, .dropout = dropout, .precision = precision});
}

at::Tensor causal_attention(const at::Tensor& queries, const at::Tensor& keys,
                            const at::Tensor& values, double scale, const at::Tensor& alibi_slopes,
                            const Dropout& dropout, Precision precision) {
  check_sequence(queries, "causal_attention: queries");
  const int64_t B = queries.size(0), T = queries.size(1), H = queries.size(2), D = queries.size(3);
  check_like(keys, {B, T, H, D}, queries, "causal_attention: keys");
  check_like(values, {B, T, H, D}, queries, "causal_attention: values");
  if (alibi_slopes.defined()) {
    check_like(alibi_slopes, {H}, queries, "causal_attention: alibi_slopes");
    TESSERA_CHECK(!alibi_slopes.requires_grad(),
                  "causal_attention: alibi_slopes are constants, but require a gradient; "
                  "detach() them");
  }
  check_dropout(dropout, "causal_attention");
  return causal_read(
      queries, keys, values,
      {.scale = scale, .alibi_slopes = alibi_slopes, .dropout = dropout, .precision = precision});
}

at::Tensor alibi_slopes(int64_t heads) {
  TESSERA_CHECK(heads >= 1, "alibi_slopes: heads is ", heads, ", expected 1 or more");
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  const at::Tensor between = geometric(2 * power).slice(0, 0, 2 * (heads - power), 2);
  return at::cat({geometric(power), between}).to(at::kFloat);
}

}  // namespace tessera::ops
