#include "tessera/ops/memory_step.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "tessera/ops/cpu/int8/memory_step.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/memory_read.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

struct Sizes {
  int64_t B, H, D;
};

void check_map(const LinearMap& map, int64_t C, const at::Tensor& x, const char* what) {
  check_weight(map.weight, {C, C}, x, what);
  if (map.bias.defined()) check_like(map.bias, {C}, x, what);
}

/// Checks what both steps have.
Sizes checked_sizes(const at::Tensor& x, const KeyParameters& key, const LinearMap& output) {
  check_shape(x, {-1, 1, -1}, "memory step: x");
  const int64_t C = x.size(2), H = key.leak.numel();
  TESSERA_CHECK(H > 0 && C % H == 0, "memory step: ", C, " channels of x for ", H,
                " heads; expected a multiple");
  check_map(key.projection, C, x, "memory step: projection of keys");
  check_like(key.leak, {H}, x, "memory step: leak");
  check_like(key.scale.x, {H}, x, "memory step: scale of keys");
  check_map(output, C, x, "memory step: output");
  return {x.size(0), H, C / H};
}

Sizes checked_sizes(const at::Tensor& x, const ContextParameters& parameters,
                    const ContextCarry& last, const PairStorage& storage) {
  const Sizes sizes = checked_sizes(x, parameters.key, parameters.output);
  const int64_t B = sizes.B, H = sizes.H, D = sizes.D;
  check_map(parameters.value.projection, H * D, x, "context_step: projection of values");
  check_like(parameters.value.mix, {H}, x, "context_step: mix");
  check_like(parameters.value.scale.x, {H}, x, "context_step: scale of values");
  check_like(last.leaky_key, {B, H, D}, x, "context_step: leaky_key");
  check_like(last.key, {B, H, D}, x, "context_step: key");
  check_like(last.raw_value, {B, H, D}, x, "context_step: raw_value");
  check_weight(storage.keys, {B, H, -1, D}, x, "context_step: stored keys");
  const int64_t capacity = storage.keys.size(2);
  check_weight(storage.values, {B, H, capacity, D}, x, "context_step: stored values");
  TESSERA_CHECK(storage.keys.scalar_type() == storage.values.scalar_type(),
                "context_step: stored keys of ", storage.keys.scalar_type(), ", stored values of ",
                storage.values.scalar_type());
  const auto within = [&](const std::vector<int64_t>& numbers, int64_t least, int64_t most) {
    return std::ssize(numbers) == B &&
           std::ranges::all_of(numbers, [&](int64_t n) { return n >= least && n <= most; });
  };
  TESSERA_CHECK(within(storage.slots, 0, capacity - 1) && within(storage.counts, 1, capacity),
                "context_step: slots ", at::IntArrayRef(storage.slots), " and counts ",
                at::IntArrayRef(storage.counts), "; expected one of each for ", B,
                " rows, within a capacity of ", capacity);
  return sizes;
}

cpu::Projection projection_of(const LinearMap& map) {
  return {weight_rows(map.weight), floats_of(map.bias)};
}

cpu::HeadFactor factor_of(const HeadFactor& factor) {
  return {factor.x.data_ptr<float>(), static_cast<float>(factor.slope),
          static_cast<float>(factor.bound)};
}

/// From the last leaky average (undefined: 0) to the next one and the key.
cpu::KeyStep key_step(const KeyParameters& parameters, const at::Tensor& last_leaky_key,
                      const at::Tensor& leaky_key, const at::Tensor& key) {
  return {.projection = projection_of(parameters.projection),
          .decay = {floats_of(parameters.leak), static_cast<float>(-parameters.leak_scale), 0},
          .scale = factor_of(parameters.scale),
          .epsilon = static_cast<float>(parameters.epsilon),
          .last_leaky_key = floats_of(last_leaky_key),
          .leaky_key = leaky_key.data_ptr<float>(),
          .key = key.data_ptr<float>()};
}

cpu::ValueStep value_step(const ValueParameters& parameters, const at::Tensor& last_raw_value,
                          const at::Tensor& raw_value) {
  return {.projection = projection_of(parameters.projection),
          .mix = floats_of(parameters.mix),
          .scale = factor_of(parameters.scale),
          .epsilon = static_cast<float>(parameters.epsilon),
          .last_raw_value = floats_of(last_raw_value),
          .raw_value = raw_value.data_ptr<float>()};
}

ContextStep fused(const Sizes& sizes, const at::Tensor& x, const ContextParameters& parameters,
                  const ContextCarry& last, const PairStorage& storage) {
  const ContextStep result = {
      at::empty_like(x),
      {at::empty_like(last.leaky_key), at::empty_like(last.key), at::empty_like(last.raw_value)}};
  cpu::context_step(
      {.B = sizes.B,
       .H = sizes.H,
       .D = sizes.D,
       .x = floats_of(x),
       .key = key_step(parameters.key, last.leaky_key, result.carry.leaky_key, result.carry.key),
       .value = value_step(parameters.value, last.raw_value, result.carry.raw_value),
       .last_key = floats_of(last.key),
       .capacity = storage.keys.size(2),
       .stored_keys = storage.keys.data_ptr(),
       .stored_values = storage.values.data_ptr(),
       .stored_type = weight_type(storage.keys),
       .slots = storage.slots.data(),
       .counts = storage.counts.data(),
       .output = projection_of(parameters.output),
       .y = result.y.data_ptr<float>()});
  return result;
}

/// rows [B, H, D] in the numbers that the pairs are kept in. Throws where 8 bits cannot keep them.
at::Tensor kept_as(const at::Tensor& pairs, const at::Tensor& rows) {
  return rows.scalar_type() == at::kFloat ? stored_as(rows, weight_type(pairs)) : rows;
}

/// Such rows into the slots of pairs [B, H, capacity, D].
void write(const at::Tensor& pairs, const at::Tensor& slots, const at::Tensor& kept) {
  pairs.scatter_(2, slots.view({-1, 1, 1, 1}).expand({-1, kept.size(1), 1, kept.size(2)}),
                 kept.unsqueeze(2));
}

ContextStep composed(const at::Tensor& x, const ContextParameters& parameters,
                     const ContextCarry& last, const PairStorage& storage, Precision precision) {
  const auto [keys, leaky_key] = extract_keys(x, parameters.key, last.leaky_key, precision);
  const at::Tensor raw = raw_values(x, parameters.value, precision);  // [B, 1, H, D]
  const at::Tensor value =
      complete_values(at::cat({last.raw_value.unsqueeze(1), raw}, 1), parameters.value)
          .select(1, 0);
  const at::Tensor slots = at::tensor(storage.slots, at::kLong).to(x.device());
  const at::Tensor kept_key = kept_as(storage.keys, last.key);
  const at::Tensor kept_value = kept_as(storage.values, value);
  write(storage.keys, slots, kept_key);
  write(storage.values, slots, kept_value);
  const int64_t most =
      storage.counts.empty() ? 0 : *std::max_element(storage.counts.begin(), storage.counts.end());
  const at::Tensor key = keys.select(1, 0);  // [B, H, D]
  const at::Tensor read =
      memory_read(key, storage.keys.narrow(2, 0, most), storage.values.narrow(2, 0, most),
                  at::tensor(storage.counts, at::kLong))
          .value;  // [B, H, D]
  return {linear(read.flatten(1).unsqueeze(1), parameters.output.weight, parameters.output.bias,
                 precision),
          {leaky_key, key, raw.select(1, 0)}};
}

PersistentStep fused(const Sizes& sizes, const at::Tensor& x,
                     const PersistentParameters& parameters, const at::Tensor& leaky_key) {
  const auto [B, H, D] = sizes;
  const PersistentStep result = {at::empty_like(x), at::empty({B, H, D}, x.options())};
  const at::Tensor query = at::empty({B, H, D}, x.options());
  cpu::persistent_step({.B = B,
                        .H = H,
                        .D = D,
                        .P = parameters.slot_keys.size(0),
                        .M = parameters.slot_keys.size(2),
                        .x = floats_of(x),
                        .key = key_step(parameters.key, leaky_key, result.leaky_key, query),
                        .slot_keys = weight_rows(parameters.slot_keys),
                        .slot_values = weight_rows(parameters.slot_values),
                        .scale = factor_of(parameters.scale),
                        .output = projection_of(parameters.output),
                        .y = result.y.data_ptr<float>()});
  return result;
}

PersistentStep composed(const at::Tensor& x, const PersistentParameters& parameters,
                        const at::Tensor& last_leaky_key, Precision precision) {
  const auto [keys, leaky_key] = extract_keys(x, parameters.key, last_leaky_key, precision);
  const at::Tensor read = mean_slot_read(keys, parameters.slot_keys, parameters.slot_values,
                                         parameters.scale.value(), {}, precision);  // [B, 1, H, D]
  return {linear(read.flatten(2), parameters.output.weight, parameters.output.bias, precision),
          leaky_key};
}

}  // namespace

ContextStep context_step(const at::Tensor& x, const ContextParameters& parameters,
                         const ContextCarry& last, const PairStorage& storage,
                         Precision precision) {
  const at::NoGradGuard no_grad;
  const Sizes sizes = checked_sizes(x, parameters, last, storage);
  const auto& [key, value, output] = parameters;
  const bool loops = loops_run_few_rows(
      sizes.B,
      {x, key.projection.bias, key.leak, key.scale.x, value.projection.bias, value.mix,
       value.scale.x, output.bias, last.leaky_key, last.key, last.raw_value},
      {key.projection.weight, value.projection.weight, output.weight});
  const bool in_place = storage.keys.is_contiguous() && storage.values.is_contiguous();
  return loops && in_place ? fused(sizes, x, parameters, last, storage)
                           : composed(x, parameters, last, storage, precision);
}

PersistentStep persistent_step(const at::Tensor& x, const PersistentParameters& parameters,
                               const at::Tensor& leaky_key, Precision precision) {
  const at::NoGradGuard no_grad;
  const auto& [key, slot_keys, slot_values, scale, output] = parameters;
  const auto [B, H, D] = checked_sizes(x, key, output);
  if (leaky_key.defined()) check_like(leaky_key, {B, H, D}, x, "persistent_step: leaky_key");
  check_weight(slot_keys, {-1, H, -1, D}, x, "persistent_step: slot_keys");
  TESSERA_CHECK(slot_keys.size(0) > 0,
                "persistent_step: slot_keys hold no memory; expected at least 1");
  check_weight(slot_values, {slot_keys.size(0), H, slot_keys.size(2), D}, x,
               "persistent_step: slot_values");
  check_like(scale.x, {H}, x, "persistent_step: scale");
  const bool loops = loops_run_few_rows(
      B, {x, key.projection.bias, key.leak, key.scale.x, scale.x, output.bias, leaky_key},
      {key.projection.weight, slot_keys, slot_values, output.weight});
  return loops ? fused({B, H, D}, x, parameters, leaky_key)
               : composed(x, parameters, leaky_key, precision);
}

}  // namespace tessera::ops
