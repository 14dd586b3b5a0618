#include "tessera/ops/memory_read.h"

#include <ATen/ATen.h>

#include <limits>

#include "tessera/ops/cpu/memory_step.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

void check_arguments(const at::Tensor& query, const at::Tensor& keys, const at::Tensor& values,
                     const at::Tensor& counts) {
  check_shape(query, {-1, -1, -1}, "memory_read: query");
  const int64_t B = query.size(0), H = query.size(1), D = query.size(2);
  check_weight(keys, {B, H, -1, D}, query, "memory_read: keys");
  check_weight(values, {B, H, keys.size(2), D}, query, "memory_read: values");
  TESSERA_CHECK(keys.scalar_type() == values.scalar_type(), "memory_read: keys of ",
                keys.scalar_type(), ", values of ", values.scalar_type());
  if (!counts.defined()) return;
  check_shape(counts, {B}, "memory_read: counts");
  TESSERA_CHECK(counts.scalar_type() == at::kLong && counts.device().is_cpu(),
                "memory_read: counts must be int64 on the CPU, got ", counts.scalar_type(), " on ",
                counts.device());
  for (int64_t b = 0; b < B; ++b) {
    const int64_t count = counts.data_ptr<int64_t>()[b * counts.stride(0)];
    TESSERA_CHECK(count >= 0 && count <= keys.size(2), "memory_read: counts[", b, "] is ", count,
                  ", expected 0 to ", keys.size(2));
  }
}

MemoryReading composed(const at::Tensor& query, const at::Tensor& keys, const at::Tensor& values,
                       const at::Tensor& counts) {
  at::Tensor scores = at::matmul(keys, query.unsqueeze(-1)).squeeze(-1);  // [B, H, N]
  if (counts.defined()) {
    const at::Tensor empty =
        at::arange(keys.size(2), counts.options()).ge(counts.view({-1, 1, 1})).to(query.device());
    scores = scores.masked_fill(empty, -std::numeric_limits<double>::infinity());
  }
  at::Tensor weights = scores.softmax(-1);
  if (counts.defined())  // a row without pairs is 0 / 0
    weights = weights.masked_fill(counts.eq(0).view({-1, 1, 1}).to(query.device()), 0);
  return {at::matmul(weights.unsqueeze(2), values).squeeze(2), weights};
}

/// `pairs` itself if each head's rows are contiguous, else a copy.
at::Tensor with_contiguous_heads(const at::Tensor& pairs) {
  const bool contiguous = pairs.stride(3) == 1 && pairs.stride(2) == pairs.size(3);
  return contiguous ? pairs : pairs.contiguous();
}

MemoryReading fused(const at::Tensor& query, const at::Tensor& keys, const at::Tensor& values,
                    const at::Tensor& counts) {
  const at::Tensor q = query.contiguous();
  const at::Tensor k = with_contiguous_heads(keys), v = with_contiguous_heads(values);
  const at::Tensor row_counts = counts.defined() ? counts.contiguous() : counts;
  const MemoryReading reading = {
      at::empty(query.sizes(), query.options()),
      at::empty({query.size(0), query.size(1), keys.size(2)}, query.options())};
  cpu::memory_read({.B = query.size(0),
                    .H = query.size(1),
                    .D = query.size(2),
                    .N = keys.size(2),
                    .query = floats_of(q),
                    .keys = weight_rows(k),
                    .key_batch_stride = k.stride(0),
                    .key_head_stride = k.stride(1),
                    .values = weight_rows(v),
                    .value_batch_stride = v.stride(0),
                    .value_head_stride = v.stride(1),
                    .counts = counts.defined() ? row_counts.data_ptr<int64_t>() : nullptr,
                    .value = reading.value.data_ptr<float>(),
                    .weights = reading.weights.data_ptr<float>()});
  return reading;
}

}  // namespace

at::Tensor memory_read(const at::Tensor& query, const at::Tensor& keys, const at::Tensor& values,
                       const at::Tensor& counts) {
  return inspect_memory_read(query, keys, values, counts).value;
}

MemoryReading inspect_memory_read(const at::Tensor& query, const at::Tensor& keys,
                                  const at::Tensor& values, const at::Tensor& counts) {
  check_arguments(query, keys, values, counts);
  at::NoGradGuard no_grad;
  if (loops_run({query})) return fused(query, keys, values, counts);
  const int64_t D = query.size(2);
  return composed(query, as_floats(keys, D), as_floats(values, D), counts);
}

}  // namespace tessera::ops
