#include "tessera/ops/causal_attention.h"

#include <c10/util/Exception.h>

#include "tessera/ops/causal_read.h"
#include "tessera/ops/check_sequence.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {

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
  return causal_read(queries, keys, values, {scale, /*lag=*/0, alibi_slopes, dropout, precision});
}

}  // namespace tessera::ops
