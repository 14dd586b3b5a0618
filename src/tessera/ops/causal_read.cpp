#include "tessera/ops/causal_read.h"

#include <ATen/ATen.h>

#include <limits>

#include "tessera/ops/rounded_matmul.h"

namespace tessera::ops {
namespace {

/// A read with lag 1 is one with lag 0 in which each query has moved up by one row.
at::Tensor composed(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                    const CausalReadOptions& options) {
  const int64_t B = queries.size(0), H = queries.size(2), D = queries.size(3), lag = options.lag;
  const int64_t rows = std::max<int64_t>(queries.size(1) - lag, 0);
  const at::Tensor q = queries.narrow(1, queries.size(1) - rows, rows).transpose(1, 2);
  const at::Tensor k = keys.narrow(1, 0, rows).transpose(1, 2);
  const at::Tensor v = values.narrow(1, 0, rows).transpose(1, 2);  // [B, H, rows, D]

  at::Tensor scores = rounded_matmul(q * options.scale, k.transpose(2, 3),
                                     options.precision);  // [B, H, rows, rows]
  if (options.alibi_slopes.defined()) {
    const at::Tensor times = at::arange(rows, q.options().requires_grad(false));
    const at::Tensor distances = times.view({-1, 1}) + lag - times;
    scores = scores - options.alibi_slopes.view({-1, 1, 1}) * distances;
  }
  const at::Tensor future = at::ones({rows, rows}, q.options().dtype(at::kBool)).triu(1);
  at::Tensor weights =
      scores.masked_fill(future, -std::numeric_limits<double>::infinity()).softmax(-1);
  if (options.dropout.probability > 0)
    weights = weights * dropout_factors(options.dropout, B, H, lag, rows, rows, q.options());
  const at::Tensor read = rounded_matmul(weights, v, options.precision).transpose(1, 2);
  return at::cat({at::zeros({B, queries.size(1) - rows, H, D}, q.options()), read}, 1);
}

}  // namespace

at::Tensor causal_read(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                       const CausalReadOptions& options) {
  return composed(queries, keys, values, options);
}

}  // namespace tessera::ops
