#include "tessera/memory/context_memory.h"

#include <ATen/ATen.h>

#include "tessera/base/check_shape.h"
#include "tessera/base/error.h"
#include "tessera/memory/unit_output.h"
#include "tessera/ops/kernel_smoothing.h"

namespace tessera {

ContextMemoryState ContextMemoryState::stack(const std::vector<const ContextMemoryState*>& parts) {
  std::vector<const StoredPairs*> pairs;
  std::vector<at::Tensor> leaky_keys, keys, raw_values;
  for (const auto* part : parts) {
    TORCH_CHECK_VALUE(part->leaky_key.defined(),
                      "ContextMemoryState::stack: a memory that has read nothing");
    pairs.push_back(&part->pairs);
    leaky_keys.push_back(part->leaky_key);
    keys.push_back(part->pending_key);
    raw_values.push_back(part->pending_raw_value);
  }
  return {StoredPairs::stack(pairs), at::cat(leaky_keys), at::cat(keys), at::cat(raw_values)};
}

ContextMemoryState ContextMemoryState::select(const std::vector<int64_t>& rows) const {
  TORCH_CHECK_VALUE(leaky_key.defined(),
                    "ContextMemoryState::select: a memory that has read nothing");
  const at::Tensor index = at::tensor(rows, at::kLong).to(leaky_key.device());
  return {pairs.select(rows), leaky_key.index_select(0, index), pending_key.index_select(0, index),
          pending_raw_value.index_select(0, index)};
}

NamedTensors ContextMemoryState::tensors(const std::string& prefix) const {
  NamedTensors result = pairs.tensors(prefix + "pairs.");
  result.emplace_back(prefix + "leaky_key", leaky_key);
  result.emplace_back(prefix + "pending_key", pending_key);
  result.emplace_back(prefix + "pending_raw_value", pending_raw_value);
  return result;
}

ContextMemoryState ContextMemoryState::from_tensors(const TensorFile& file,
                                                    const std::string& prefix, MemoryBound bound,
                                                    int64_t heads, int64_t width) {
  ContextMemoryState state;
  state.leaky_key = file.at(prefix + "leaky_key", {-1, heads, width}, at::kFloat);
  const std::vector<int64_t> sizes = state.leaky_key.sizes().vec();
  state.pending_key = file.at(prefix + "pending_key", sizes, at::kFloat);
  state.pending_raw_value = file.at(prefix + "pending_raw_value", sizes, at::kFloat);
  state.pairs = StoredPairs::from_tensors(file, prefix + "pairs.", bound, heads, width);
  if (!state.pairs.counts().empty() &&
      static_cast<int64_t>(state.pairs.counts().size()) != sizes.front())
    throw DataError(file.path, "'{}pairs.' has {} rows, '{}leaky_key' {}", prefix,
                    state.pairs.counts().size(), prefix, sizes.front());
  return state;
}

ContextMemoryImpl::ContextMemoryImpl(const MemoryOptions& options) : options_(options) {
  key = register_module("key", KeyExtractor(options, /*scale_power=*/1));
  value = register_module("value", ValueExtractor(options));
  output = register_module("output", make_output(options));
}

at::Tensor ContextMemoryImpl::forward(const at::Tensor& x, std::optional<uint64_t> dropout_seed) {
  if (x.size(1) == 0) return at::zeros_like(x);
  const at::Tensor keys = key->forward(x).keys;              // [B, T, H, D]
  const at::Tensor values = value->complete(value->raw(x));  // [B, T, H, D]
  const at::Tensor read = ops::kernel_smoothing(
      keys, values, dropout_of(options_, dropout_seed, DropoutSite::kWeights), options_.precision);
  return combine_heads(read, output, options_, dropout_seed);
}

std::pair<at::Tensor, ContextMemoryState> ContextMemoryImpl::read(const at::Tensor& x,
                                                                  ContextMemoryState state) {
  at::NoGradGuard no_grad;
  check_shape(x, {-1, -1, options_.channels}, "ContextMemory: x");
  if (x.size(1) == 0) return {at::zeros_like(x), std::move(state)};
  const bool empty = !state.leaky_key.defined();
  // Reading in one go does not tell how much each pair was read.
  if (empty && state.pairs.holds(x.size(1) - 1) && !state.pairs.counts_use())
    return read_from_empty(x, std::move(state));
  std::vector<at::Tensor> steps;
  for (int64_t t = 0; t < x.size(1); ++t) steps.push_back(step(x.select(1, t), state));
  return {at::stack(steps, 1), std::move(state)};
}

std::pair<at::Tensor, ContextMemoryState> ContextMemoryImpl::read_from_empty(
    const at::Tensor& x, ContextMemoryState state) {
  const int64_t complete = x.size(1) - 1;  // the last pair still waits for its value
  const auto [keys, leaky_key] = key->forward(x);
  const at::Tensor raw = value->raw(x);
  const at::Tensor values = value->complete(raw);
  const at::Tensor read = ops::kernel_smoothing(keys, values, {}, options_.precision);
  state.pairs.store_sequence(keys.narrow(1, 0, complete), values.narrow(1, 0, complete));
  // Copies: a view would keep the whole sequence in memory.
  state.leaky_key = leaky_key.clone();
  state.pending_key = keys.select(1, complete).clone();
  state.pending_raw_value = raw.select(1, complete).clone();
  return {combine_heads(read, output, options_, {}), std::move(state)};
}

at::Tensor ContextMemoryImpl::step(const at::Tensor& x, ContextMemoryState& state) {
  const at::Tensor now = x.unsqueeze(1);              // [B, 1, C]
  const at::Tensor raw = value->raw(now).squeeze(1);  // [B, H, D]
  if (state.pending_key.defined()) {
    // The pending pair is completed before the query: step t sees the pair of step t - 1.
    const at::Tensor both = at::stack({state.pending_raw_value, raw}, 1);  // [B, 2, H, D]
    state.pairs.store(state.pending_key, value->complete(both).select(1, 0));
  } else {
    state.pairs.open(raw);
  }
  const auto [keys, leaky_key] = key->forward(now, state.leaky_key);
  const at::Tensor query = keys.squeeze(1);  // [B, H, D]
  const auto [read, weights] = state.pairs.retrieve(query);
  state.pairs.count_use(weights);
  state.leaky_key = leaky_key;
  state.pending_key = query;
  state.pending_raw_value = raw;
  return combine_heads(read.unsqueeze(1), output, options_, {}).squeeze(1);
}

}  // namespace tessera
