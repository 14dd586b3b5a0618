#include "tessera/ops/memory_read.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <limits>

#include "tessera/ops/cpu/int8/memory_step.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/ops/detail/fused_read.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

void check_arguments(const at::Tensor& query, const at::Tensor& keys, const at::Tensor& values,
                     const at::Tensor& counts) {
  check_vectors(query, "memory_read: query");
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

MemoryReading composed_read(const at::Tensor& query, const at::Tensor& keys,
                            const at::Tensor& values, const at::Tensor& counts) {
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

at::Tensor composed_slot_read(const at::Tensor& queries, const at::Tensor& slot_keys,
                              const at::Tensor& slot_values, const Dropout& dropout,
                              Precision precision) {
  if (torch_attention_runs(queries) && dropout.probability == 0) {
    // The slots are the same for all rows, as if they were of one sequence.
    const at::Tensor rows = queries.flatten(0, 1).transpose(0, 1);  // [H, B T, D]
    return torch_attention(rows.unsqueeze(0), slot_keys.unsqueeze(0), slot_values.unsqueeze(0),
                           /*scale=*/1, /*causal=*/false, precision)
        .squeeze(0)
        .transpose(0, 1)
        .reshape(queries.sizes());
  }
  const at::Tensor q = queries.transpose(1, 2);  // [B, H, T, D]
  at::Tensor weights =
      rounded_matmul(q, slot_keys.transpose(1, 2), precision).softmax(-1);  // [B, H, T, M]
  if (dropout.probability > 0)
    weights = weights * dropout_factors(dropout, q.size(0), q.size(1), 0, q.size(2),
                                        slot_keys.size(1), q.options());
  return rounded_matmul(weights, slot_values, precision).transpose(1, 2);
}

/// Between the seeds of memories side by side, so that each draws a mask of its own.
constexpr uint64_t kSeedStep = 0x9e3779b97f4a7c15u;

}  // namespace

MemoryReading memory_read(const at::Tensor& query, const at::Tensor& keys, const at::Tensor& values,
                          const at::Tensor& counts) {
  check_arguments(query, keys, values, counts);
  at::NoGradGuard no_grad;
  if (loops_run({query})) return fused(query, keys, values, counts);
  return composed_read(query, as_multiplied_by(query, keys), as_multiplied_by(query, values),
                       counts);
}

at::Tensor slot_read(const at::Tensor& queries, const at::Tensor& slot_keys,
                     const at::Tensor& slot_values, const Dropout& dropout, Precision precision) {
  check_sequence(queries, "slot_read: queries");
  check_like(slot_keys, {queries.size(2), -1, queries.size(3)}, queries, "slot_read: slot_keys");
  check_like(slot_values, {queries.size(2), slot_keys.size(1), queries.size(3)}, queries,
             "slot_read: slot_values");
  check_dropout(dropout, "slot_read");
  if (loops_run({queries, slot_keys, slot_values}))
    return fused_read(queries, slot_keys, slot_values,
                      {.dropout = dropout, .precision = precision});
  return composed_slot_read(queries, slot_keys, slot_values, dropout, precision);
}

at::Tensor mean_slot_read(const at::Tensor& queries, const at::Tensor& slot_keys,
                          const at::Tensor& slot_values, const at::Tensor& scale,
                          const Dropout& dropout, Precision precision) {
  check_sequence(queries, "mean_slot_read: queries");
  const int64_t H = queries.size(2), D = queries.size(3);
  check_weight(slot_keys, {-1, H, -1, D}, queries, "mean_slot_read: slot_keys");
  const int64_t P = slot_keys.size(0), M = slot_keys.size(2);
  check_weight(slot_values, {P, H, M, D}, queries, "mean_slot_read: slot_values");
  TESSERA_CHECK(slot_keys.scalar_type() == slot_values.scalar_type(), "mean_slot_read: keys of ",
                slot_keys.scalar_type(), ", values of ", slot_values.scalar_type());
  check_like(scale, {H}, queries, "mean_slot_read: scale");
  TESSERA_CHECK(P > 0, "mean_slot_read: no memory to read; expected at least 1");
  check_dropout(dropout, "mean_slot_read");
  const bool fewer_bits = weight_type(slot_keys) != WeightType::kFloat32 && loops_run({queries}) &&
                          !needs_gradient({queries});
  const at::Tensor keys = fewer_bits ? slot_keys : as_multiplied_by(queries, slot_keys);
  const at::Tensor values = fewer_bits ? slot_values : as_multiplied_by(queries, slot_values);
  Dropout one_dropout = dropout;
  at::Tensor sum;  // [B, T, H, D]
  for (int64_t p = 0; p < P; ++p) {
    // Slots of fewer bits have no more digits than a bfloat16.
    const CausalReadOptions rounded = {.dropout = one_dropout, .precision = Precision::kBFloat16};
    const at::Tensor one = fewer_bits
                               ? fused_read(queries, keys[p], values[p], rounded)
                               : slot_read(queries, keys[p], values[p], one_dropout, precision);
    one_dropout.seed += kSeedStep;
    sum = p == 0 ? one : sum + one;
  }
  return sum * (scale / P).unsqueeze(-1);
}

}  // namespace tessera::ops
