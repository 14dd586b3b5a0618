#include "tessera/memory/mosaic/persistent_memory.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "tessera/memory/detail/output_projection.h"
#include "tessera/memory/make_linear.h"
#include "tessera/ops/memory_read.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/check.h"

namespace tessera {

PersistentMemoryImpl::PersistentMemoryImpl(const MemoryOptions& options, int64_t slots,
                                           int64_t count, FirstSlots first)
    : options_(options), slots_(slots), count_(count), first_(first) {
  TESSERA_CHECK(slots >= 0 && count >= 1, "PersistentMemory: ", count, " memories of ", slots,
                " slots; expected at least 1 of 0 or more");
  options.check();
  reset();
}

void PersistentMemoryImpl::reset() {
  const auto zeros = [&](at::IntArrayRef sizes) { return at::zeros(sizes, options_.device); };
  const std::vector<int64_t> sizes = {count_, options_.heads, slots_, options_.head_width()};
  key = register_module("key", KeyExtractor(options_, /*scale_power=*/2));
  slot_keys = register_parameter("slot_keys", zeros(sizes));
  slot_values = register_parameter("slot_values", zeros(sizes));
  log_scale = register_parameter("log_scale", zeros({options_.heads}));
  output = register_module(
      "output", make_linear(options_.channels, options_.channels, options_.bias, options_.device));
  reset_scalars();
  if (first_ == FirstSlots::kZero) return;
  at::NoGradGuard no_grad;
  const double deviation = 1.0 / std::sqrt(options_.head_width());
  slot_keys.normal_(0.0, deviation);
  slot_values.normal_(0.0, deviation);
}

void PersistentMemoryImpl::reset_scalars() {
  at::NoGradGuard no_grad;
  key->reset_scalars();
  log_scale.fill_(kFirstLogScale / kScalarScaling);
}

at::Tensor PersistentMemoryImpl::forward(const at::Tensor& x,
                                         std::optional<uint64_t> dropout_seed) {
  check_shape(x, {-1, -1, options_.channels}, "PersistentMemory: x");
  if (x.size(1) == 0) return at::zeros_like(x);
  return read_slots(key->forward(x).keys, dropout_seed);
}

std::pair<at::Tensor, at::Tensor> PersistentMemoryImpl::read(const at::Tensor& x,
                                                             const at::Tensor& leaky_key) {
  at::NoGradGuard no_grad;
  check_shape(x, {-1, -1, options_.channels}, "PersistentMemory: x");
  if (x.size(1) == 0) return {at::zeros_like(x), leaky_key};
  if (x.size(1) == 1) {
    const ops::PersistentStep step =
        ops::persistent_step(x, parameters_for_ops(), leaky_key, options_.precision);
    return {step.y, step.leaky_key};
  }
  const auto [keys, next_leaky_key] = key->forward(x, leaky_key);
  // A copy: a view would keep the whole sequence in memory.
  return {read_slots(keys, {}), next_leaky_key.clone()};
}

at::Tensor PersistentMemoryImpl::slot_weights(const at::Tensor& x, int64_t first) {
  at::NoGradGuard no_grad;
  const at::Tensor keys = key->forward(x).keys;  // [B, T, H, D]
  TESSERA_CHECK(first >= 0 && first <= x.size(1), "PersistentMemory: the first step is ", first,
                ", expected 0 to ", x.size(1), ", the number of steps");
  const at::Tensor queries = keys.slice(1, first).transpose(1, 2);  // [B, H, t, D]
  std::vector<at::Tensor> weights;                                  // of each memory [B, H, t, M]
  for (int64_t p = 0; p < slot_keys.size(0); ++p) {
    const at::Tensor slots =  // [H, M, D]
        ops::as_floats(slot_keys[p], options_.head_width()).to(queries.scalar_type());
    weights.push_back(queries.matmul(slots.transpose(1, 2)).softmax(-1));
  }
  return at::cat(weights, -1).transpose(1, 2);
}

at::Tensor PersistentMemoryImpl::slot_contents() const {
  at::NoGradGuard no_grad;
  const int64_t P = slot_values.size(0);
  const at::Tensor values =  // [P, H, M, D]
      ops::as_floats(slot_values, options_.head_width()).to(log_scale.scalar_type());
  return values.transpose(0, 1).flatten(1, 2) * (scale() / P).view({-1, 1, 1});
}

at::Tensor PersistentMemoryImpl::read_slots(const at::Tensor& keys,
                                            std::optional<uint64_t> dropout_seed) {
  const at::Tensor reading = ops::mean_slot_read(
      keys, slot_keys, slot_values, scale(),
      dropout_at(DropoutSite::kWeights, options_, dropout_seed), options_.precision);
  return project_output(reading, output, options_, dropout_seed);
}

ops::PersistentParameters PersistentMemoryImpl::parameters_for_ops() const {
  return {key->parameters_for_ops(),
          slot_keys,
          slot_values,
          {log_scale, kScalarScaling},
          {output->weight, output->bias}};
}

}  // namespace tessera
