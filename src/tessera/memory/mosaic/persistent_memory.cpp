#include "tessera/memory/mosaic/persistent_memory.h"

#include <ATen/ATen.h>

#include "tessera/memory/mosaic/head_combination.h"
#include "tessera/memory/mosaic/step_parameters.h"
#include "tessera/ops/dispatch.h"
#include "tessera/ops/slot_read.h"
#include "tessera/tensor/check_shape.h"

namespace tessera {
namespace {

/// Between the seeds of memories side by side, so that each draws its own mask.
constexpr uint64_t kSeedStep = 0x9e3779b97f4a7c15u;

}  // namespace

PersistentMemoryImpl::PersistentMemoryImpl(const MemoryOptions& options, int64_t slots,
                                           int64_t count)
    : options_(options) {
  key = register_module("key", KeyExtractor(options, /*scale_power=*/2));
  const std::vector<int64_t> shape = {count, options.heads, slots, options.head_width()};
  slot_keys = register_parameter("slot_keys", at::zeros(shape, options.device));
  slot_values = register_parameter("slot_values", at::zeros(shape, options.device));
  log_scale = register_parameter(
      "log_scale", at::full({options.heads}, kFirstLogScale / kScalarScaling, options.device));
  output = register_module("output", make_output(options));
}

void PersistentMemoryImpl::reset_scalars() {
  at::NoGradGuard no_grad;
  key->reset_scalars();
  log_scale.fill_(kFirstLogScale / kScalarScaling);
}

at::Tensor PersistentMemoryImpl::scale() const {
  return (kScalarScaling * log_scale).exp();
}

at::Tensor PersistentMemoryImpl::forward(const at::Tensor& x,
                                         std::optional<uint64_t> dropout_seed) {
  if (x.size(1) == 0) return at::zeros_like(x);
  return read_slots(key->forward(x).keys, dropout_seed);
}

std::pair<at::Tensor, at::Tensor> PersistentMemoryImpl::read(const at::Tensor& x,
                                                             const at::Tensor& leaky_key) {
  at::NoGradGuard no_grad;
  if (x.size(1) == 0) return {at::zeros_like(x), leaky_key};
  if (const cpu::Loops* loops = step_loops(x, leaky_key)) return step(*loops, x, leaky_key);
  const auto [keys, next_leaky_key] = key->forward(x, leaky_key);
  // A copy: a view would keep the whole sequence in memory.
  return {read_slots(keys, {}), next_leaky_key.clone()};
}

at::Tensor PersistentMemoryImpl::read_slots(const at::Tensor& keys,
                                            std::optional<uint64_t> dropout_seed) {
  const int64_t count = slot_keys.size(0);
  ops::Dropout dropout = dropout_of(options_, dropout_seed, DropoutSite::kWeights);
  at::Tensor reading;  // [B, T, H, D]
  for (int64_t p = 0; p < count; ++p) {
    const at::Tensor one =
        ops::slot_read(keys, slot_keys[p], slot_values[p], dropout, options_.precision);
    dropout.seed += kSeedStep;
    reading = p == 0 ? one : reading + one;
  }
  reading = reading * (scale() / count).unsqueeze(-1);
  return combine_heads(reading, output, options_, dropout_seed);
}

const cpu::Loops* PersistentMemoryImpl::step_loops(const at::Tensor& x,
                                                   const at::Tensor& leaky_key) const {
  if (x.size(1) != 1 || x.numel() == 0 || x.size(0) > ops::kFewRows) return nullptr;
  return ops::contiguous_loops({x, leaky_key, key->projection->weight, key->projection->bias,
                                key->leak, key->log_scale, slot_keys, slot_values, log_scale,
                                output->weight, output->bias});
}

std::pair<at::Tensor, at::Tensor> PersistentMemoryImpl::step(const cpu::Loops& loops,
                                                             const at::Tensor& x,
                                                             const at::Tensor& leaky_key) const {
  const int64_t B = x.size(0), H = options_.heads, D = options_.head_width();
  check_shape(x, {B, 1, H * D}, "PersistentMemory: x");
  if (leaky_key.defined()) check_shape(leaky_key, {B, H, D}, "PersistentMemory: leaky_key");
  const at::Tensor y = at::empty_like(x), query = at::empty({B, H, D}, x.options()),
                   next_leaky_key = at::empty({B, H, D}, x.options());
  cpu::PersistentStep loop;
  loop.B = B;
  loop.H = H;
  loop.D = D;
  loop.P = slot_keys.size(0);
  loop.M = slot_keys.size(2);
  loop.epsilon = kNormEpsilon;
  loop.x = x.data_ptr<float>();
  loop.key = key->step_loop(leaky_key, next_leaky_key, query);
  loop.slot_keys = slot_keys.data_ptr<float>();
  loop.slot_values = slot_values.data_ptr<float>();
  loop.scale = head_factor(log_scale, kScalarScaling);
  loop.output = projection_of(*output);
  loop.y = y.data_ptr<float>();
  loops.persistent_step(loop);
  return {y, next_leaky_key};
}

}  // namespace tessera
