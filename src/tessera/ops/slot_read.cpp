#include "tessera/ops/slot_read.h"

#include <ATen/ATen.h>

#include "tessera/ops/check_sequence.h"
#include "tessera/ops/rounded_matmul.h"

namespace tessera::ops {
namespace {

at::Tensor composed(const at::Tensor& queries, const at::Tensor& slot_keys,
                    const at::Tensor& slot_values, Precision precision) {
  const at::Tensor q = queries.transpose(1, 2);  // [B, H, T, D]
  const at::Tensor weights =
      rounded_matmul(q, slot_keys.transpose(1, 2), precision).softmax(-1);  // [B, H, T, M]
  return rounded_matmul(weights, slot_values, precision).transpose(1, 2);
}

}  // namespace

at::Tensor slot_read(const at::Tensor& queries, const at::Tensor& slot_keys,
                     const at::Tensor& slot_values, Precision precision) {
  check_sequence(queries, "slot_read: queries");
  check_like(slot_keys, {queries.size(2), -1, queries.size(3)}, queries, "slot_read: slot_keys");
  check_like(slot_values, {queries.size(2), slot_keys.size(1), queries.size(3)}, queries,
             "slot_read: slot_values");
  return composed(queries, slot_keys, slot_values, precision);
}

}  // namespace tessera::ops
