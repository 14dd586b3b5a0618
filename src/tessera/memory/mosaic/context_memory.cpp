#include "tessera/memory/mosaic/context_memory.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "tessera/base/error.h"
#include "tessera/memory/detail/output_projection.h"
#include "tessera/memory/make_linear.h"
#include "tessera/memory/rows_of_states.h"
#include "tessera/ops/memory_read.h"
#include "tessera/ops/memory_step.h"
#include "tessera/tensor/check.h"

namespace tessera {

ContextMemoryState ContextMemoryState::stack(const std::vector<const ContextMemoryState*>& parts) {
  for (const auto* part : parts)
    TESSERA_CHECK(part->leaky_key.defined(),
                  "ContextMemoryState::stack: a memory that has read nothing");
  ContextMemoryState result;
  result.pairs = stacked(parts, &ContextMemoryState::pairs);
  result.leaky_key = stacked(parts, &ContextMemoryState::leaky_key);
  result.pending_key = stacked(parts, &ContextMemoryState::pending_key);
  result.pending_raw_value = stacked(parts, &ContextMemoryState::pending_raw_value);
  return result;
}

ContextMemoryState ContextMemoryState::select(const std::vector<int64_t>& rows) const {
  TESSERA_CHECK(leaky_key.defined(), "ContextMemoryState::select: a memory that has read nothing");
  ContextMemoryState result;
  result.pairs = pairs.select(rows);
  result.leaky_key = chosen_rows(leaky_key, rows);
  result.pending_key = chosen_rows(pending_key, rows);
  result.pending_raw_value = chosen_rows(pending_raw_value, rows);
  return result;
}

NamedTensors ContextMemoryState::tensors(const std::string& prefix) const {
  NamedTensors result = pairs.tensors(prefix + "pairs.");
  result.emplace_back(prefix + "leaky_key", leaky_key);
  result.emplace_back(prefix + "pending_key", pending_key);
  result.emplace_back(prefix + "pending_raw_value", pending_raw_value);
  return result;
}

ContextMemoryState ContextMemoryState::from_tensors(const TensorFile& file,
                                                    const std::string& prefix, PairOptions options,
                                                    int64_t heads, int64_t width) {
  ContextMemoryState state;
  state.leaky_key = file.at(prefix + "leaky_key", {-1, heads, width}, at::kFloat);
  const std::vector<int64_t> sizes = state.leaky_key.sizes().vec();
  state.pending_key = file.at(prefix + "pending_key", sizes, at::kFloat);
  state.pending_raw_value = file.at(prefix + "pending_raw_value", sizes, at::kFloat);
  state.pairs = StoredPairs::from_tensors(file, prefix + "pairs.", options, heads, width);
  if (!state.pairs.counts().empty() && std::ssize(state.pairs.counts()) != sizes.front())
    throw DataError(file.path, "'{}pairs.' has {} rows, '{}leaky_key' {}", prefix,
                    state.pairs.counts().size(), prefix, sizes.front());
  return state;
}

ContextMemoryImpl::ContextMemoryImpl(const MemoryOptions& options) : options_(options) {
  reset();
}

void ContextMemoryImpl::reset() {
  key = register_module("key", KeyExtractor(options_, /*scale_power=*/1));
  value = register_module("value", ValueExtractor(options_));
  output = register_module(
      "output", make_linear(options_.channels, options_.channels, options_.bias, options_.device));
}

at::Tensor ContextMemoryImpl::forward(const at::Tensor& x, std::optional<uint64_t> dropout_seed) {
  check_shape(x, {-1, -1, options_.channels}, "ContextMemory: x");
  if (x.size(1) == 0) return at::zeros_like(x);
  const at::Tensor keys = key->forward(x).keys;              // [B, T, H, D]
  const at::Tensor values = value->complete(value->raw(x));  // [B, T, H, D]
  const at::Tensor read = ops::kernel_smoothing(
      keys, values, dropout_at(DropoutSite::kWeights, options_, dropout_seed), options_.precision);
  return project_output(read, output, options_, dropout_seed);
}

ContextReading ContextMemoryImpl::last_reading(const at::Tensor& x) {
  at::NoGradGuard no_grad;
  const at::Tensor keys = key->forward(x).keys;              // [B, T, H, D]
  const int64_t pairs = keys.size(1) - 1;                    // the last one waits for its value
  const at::Tensor values = value->complete(value->raw(x));  // [B, T, H, D]
  const auto stored = [&](const at::Tensor& all) {
    return all.narrow(1, 0, pairs).transpose(1, 2).contiguous();  // [B, H, T - 1, D]
  };
  const at::Tensor held = stored(values);
  return {ops::memory_read(keys.select(1, pairs).contiguous(), stored(keys), held).weights, held};
}

std::pair<at::Tensor, ContextMemoryState> ContextMemoryImpl::read(const at::Tensor& x,
                                                                  ContextMemoryState state) {
  at::NoGradGuard no_grad;
  check_shape(x, {-1, -1, options_.channels}, "ContextMemory: x");
  if (x.size(1) == 0) return {at::zeros_like(x), std::move(state)};
  if (x.size(1) == 1 && state.pending_key.defined() && !state.pairs.counts_use()) {
    const at::Tensor y = step(x, state);
    return {y, std::move(state)};
  }
  // A pair is complete one step after its key: the one that waited, and all of x but the last.
  const auto [keys, leaky_key] = key->forward(x, state.leaky_key);       // [B, T, H, D]
  const at::Tensor all_keys = after(state.pending_key, keys);            // [B, T or T + 1, H, D]
  const at::Tensor raw = after(state.pending_raw_value, value->raw(x));  // likewise
  const int64_t complete = raw.size(1) - 1;
  const at::Tensor read = state.pairs.store_and_retrieve(
      all_keys.narrow(1, 0, complete), value->complete(raw).narrow(1, 0, complete), keys,
      options_.precision);
  // Copies: a view would keep the whole sequence in memory.
  state.leaky_key = leaky_key.clone();
  state.pending_key = all_keys.select(1, complete).clone();
  state.pending_raw_value = raw.select(1, complete).clone();
  return {project_output(read, output, options_, {}), std::move(state)};
}

at::Tensor ContextMemoryImpl::step(const at::Tensor& x, ContextMemoryState& state) const {
  const ops::ContextParameters parameters = {
      key->parameters_for_ops(), value->parameters_for_ops(), {output->weight, output->bias}};
  const ops::ContextStep step = ops::context_step(
      x, parameters, {state.leaky_key, state.pending_key, state.pending_raw_value},
      state.pairs.prepare_next(state.pending_key), options_.precision);
  state.pairs.count_next();
  state.leaky_key = step.carry.leaky_key;
  state.pending_key = step.carry.key;
  state.pending_raw_value = step.carry.raw_value;
  return step.y;
}

}  // namespace tessera
