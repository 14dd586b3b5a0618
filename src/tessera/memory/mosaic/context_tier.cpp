#include "tessera/memory/mosaic/tiered_memory.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/memory/make_linear.h"
#include "tessera/memory/rows_of_states.h"
#include "tessera/ops/causal_read.h"
#include "tessera/ops/memory_read.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

// Of Zhang & Bottou 2025: first values of the scalars, and bounds of their exponentials.
constexpr double kFirstLogBandwidth = 1.5, kFirstExponent = 1.0 / 3;
constexpr double kBandwidthBound = 10, kValueBound = 15;

/// |x|, whose derivative at 0 is 1, not 0 as at::abs has it: θ starts at 0 and would stay there.
at::Tensor magnitude(const at::Tensor& x) {
  return at::where(x.lt(0), -x, x);
}

void check_reach(TierReach reach) {
  TESSERA_CHECK(reach.delay >= 1 && reach.pairs >= 0, "ContextTier: a delay of ", reach.delay,
                " and a reach of ", reach.pairs,
                " pairs; expected a delay of 1 or more, and 1 pair or more, or 0 for all");
}

/// [B, W, H, D] with pairs of zeros in front, `width` in all.
at::Tensor widened(const at::Tensor& pairs, int64_t width) {
  return at::constant_pad_nd(pairs, {0, 0, 0, 0, width - pairs.size(1), 0});
}

/// The pairs of each row that may be read at each of the next T steps, of which the last `pairs`
/// complete a pair each: [B, T].
at::Tensor readable_pairs(const ContextTierState& state, int64_t batch, int64_t steps,
                          int64_t pairs, int64_t wait) {
  std::vector<int64_t> complete(batch, pairs - steps + 1 - wait);
  if (state.rows() > 0)
    for (int64_t row = 0; row < batch; ++row)
      complete[row] += state.memory.pairs.stored()[row] + state.waiting[row];
  const at::Tensor counts =
      (at::tensor(complete, at::kLong).unsqueeze(1) + at::arange(steps, at::kLong)).clamp_min(0);
  const int64_t bound = state.memory.pairs.options().bound.pairs;
  return bound > 0 ? counts.clamp_max(bound) : counts;
}

/// Queries [B, T, H, D] that are answered one by one, each after the pair that it completes has
/// begun to wait (keys, values [B, N, H, D]; the first query of a sequence completes none, N = T -
/// 1) and the pair that has waited for `wait` others has become readable.
struct Exchange {
  at::Tensor keys, values, queries;
  int64_t wait;
  ops::Precision precision;

  Exchange of_row(int64_t row) const {
    const auto of = [row](const at::Tensor& all) { return all.narrow(0, row, 1); };
    return {of(keys), of(values), of(queries), wait, precision};
  }
  /// The pairs that become readable in a row in which so many wait.
  int64_t ready(int64_t waiting) const {
    return std::max<int64_t>(0, waiting + keys.size(1) - wait);
  }
};

/// -> [B, T, H, D], 0 where there is nothing to read.
at::Tensor store_and_retrieve(ContextTierState& state, const Exchange& exchange) {
  const at::Tensor &keys = exchange.keys, &values = exchange.values, &queries = exchange.queries;
  if (keys.size(0) == 0) return at::zeros_like(queries);  // no sequences
  if (state.memory.pairs.rows() == 0) {
    state.waiting_keys = state.waiting_values = keys.narrow(1, 0, 0);
    state.waiting.assign(keys.size(0), 0);
    state.memory.pairs.store_sequence(keys.narrow(1, 0, 0), values.narrow(1, 0, 0));
  }
  const int64_t ready = exchange.ready(state.waiting.front());
  const bool level = std::all_of(state.waiting.begin(), state.waiting.end(),
                                 [&](int64_t waiting) { return exchange.ready(waiting) == ready; });
  if (!level)
    return row_by_row(state, keys.size(0), [&](ContextTierState& one, int64_t row) {
      return store_and_retrieve(one, exchange.of_row(row));
    });
  const at::Tensor line_keys = at::cat({state.waiting_keys, keys}, 1);  // [B, W + N, H, D]
  const at::Tensor line_values = at::cat({state.waiting_values, values}, 1);
  at::Tensor read = at::zeros_like(queries);
  if (ready > 0) {  // equally many wait in all rows
    const int64_t first = state.waiting_keys.size(1) - state.waiting.front();
    const auto last = [&](const at::Tensor& all) {
      return all.narrow(1, queries.size(1) - ready, ready);
    };
    last(read).copy_(state.memory.pairs.store_and_retrieve(line_keys.narrow(1, first, ready),
                                                           line_values.narrow(1, first, ready),
                                                           last(queries), exchange.precision));
  }
  const int64_t kept = std::min(exchange.wait, line_keys.size(1));
  for (int64_t& waiting : state.waiting) waiting += keys.size(1) - exchange.ready(waiting);
  // Copies: views would keep the whole sequence in memory.
  state.waiting_keys = line_keys.narrow(1, line_keys.size(1) - kept, kept).clone();
  state.waiting_values = line_values.narrow(1, line_keys.size(1) - kept, kept).clone();
  return read;
}

}  // namespace

ContextTierState ContextTierState::stack(const std::vector<const ContextTierState*>& parts) {
  ContextTierState result;
  result.memory = stacked(parts, &ContextTierState::memory);
  int64_t width = 0;
  for (const auto* part : parts) {
    result.waiting.insert(result.waiting.end(), part->waiting.begin(), part->waiting.end());
    width = std::max(width, part->waiting_keys.size(1));
  }
  std::vector<at::Tensor> keys, values;
  for (const auto* part : parts) {
    keys.push_back(widened(part->waiting_keys, width));
    values.push_back(widened(part->waiting_values, width));
  }
  result.waiting_keys = at::cat(keys);
  result.waiting_values = at::cat(values);
  return result;
}

ContextTierState ContextTierState::select(const std::vector<int64_t>& rows) const {
  ContextTierState result;
  result.memory = memory.select(rows);
  result.waiting_keys = chosen_rows(waiting_keys, rows);
  result.waiting_values = chosen_rows(waiting_values, rows);
  for (const int64_t row : rows) result.waiting.push_back(waiting.at(row));
  return result;
}

bool ContextTierState::fits(int64_t delay) const {
  const std::vector<int64_t>& stored = memory.pairs.stored();
  for (int64_t row = 0; row < rows(); ++row)
    if (waiting[row] > delay - 1 || (stored[row] > 0 && waiting[row] < delay - 1)) return false;
  return true;
}

NamedTensors ContextTierState::tensors(const std::string& prefix) const {
  NamedTensors result = memory.tensors(prefix);
  result.emplace_back(prefix + "waiting.counts", at::tensor(waiting, at::kLong));
  result.emplace_back(prefix + "waiting.keys", waiting_keys);
  result.emplace_back(prefix + "waiting.values", waiting_values);
  return result;
}

ContextTierState ContextTierState::from_tensors(const TensorFile& file, const std::string& prefix,
                                                PairOptions options, int64_t heads, int64_t width,
                                                int64_t delay) {
  ContextTierState state;
  state.memory = ContextMemoryState::from_tensors(file, prefix, options, heads, width);
  const int64_t rows = state.rows();
  const at::Tensor counts = file.at(prefix + "waiting.counts", {rows}, at::kLong);
  state.waiting.assign(counts.data_ptr<int64_t>(), counts.data_ptr<int64_t>() + rows);
  state.waiting_keys = file.at(prefix + "waiting.keys", {rows, -1, heads, width}, at::kFloat);
  const int64_t places = state.waiting_keys.size(1);
  state.waiting_values =
      file.at(prefix + "waiting.values", {rows, places, heads, width}, at::kFloat);
  const std::vector<int64_t>& stored = state.memory.pairs.stored();
  if (std::ssize(stored) != rows)
    throw DataError(file.path, "'{}pairs.' has {} rows, '{}leaky_key' {}", prefix, stored.size(),
                    prefix, rows);
  for (int64_t row = 0; row < rows; ++row)
    if (state.waiting[row] < 0 || state.waiting[row] > places)
      throw DataError(file.path, "'{}waiting.counts' says {} pairs, expected 0 to {}", prefix,
                      state.waiting[row], places);
  if (!state.fits(delay))
    throw DataError(file.path, "'{}waiting.counts' and '{}pairs.stored' do not fit a delay of {}",
                    prefix, prefix, delay);
  return state;
}

ContextTierImpl::ContextTierImpl(const MemoryOptions& options) : options_(options) {
  options.check();
  reset();
}

void ContextTierImpl::reset() {
  const int64_t C = options_.channels, H = options_.heads;
  const auto linear = [&](int64_t out) {
    return make_linear(C, out, options_.bias, options_.device);
  };
  const auto scalars = [&] { return at::zeros({H}, options_.device); };
  key = register_module("key", linear(C));
  gates = register_module("gates", linear(2 * H));
  value = register_module("value", linear(C));
  mix = register_parameter("mix", scalars());
  value_log_scale = register_parameter("value_log_scale", scalars());
  bandwidth_log_offset = register_parameter("bandwidth_log_offset", scalars());
  bandwidth_log_factor = register_parameter("bandwidth_log_factor", scalars());
  bandwidth_exponent = register_parameter("bandwidth_exponent", scalars());
  reset_scalars();
}

void ContextTierImpl::reset_scalars() {
  at::NoGradGuard no_grad;
  mix.fill_(0.5);
  value_log_scale.zero_();
  bandwidth_log_offset.fill_(kFirstLogBandwidth);
  bandwidth_log_factor.fill_(kFirstLogBandwidth);
  bandwidth_exponent.fill_(kFirstExponent);
}

ops::Keys ContextTierImpl::keys_of(const at::Tensor& x, const at::Tensor& leaky_average) const {
  const int64_t H = options_.heads;
  const at::Tensor raw =
      mapped(x, key, options_.precision).unflatten(-1, {H, options_.head_width()});  // [B, T, H, D]
  const at::Tensor logarithms = mapped(x, gates, options_.precision);                // [B, T, 2H]
  const at::Tensor gain = logarithms.narrow(2, 0, H).exp();
  const at::Tensor decay = logarithms.narrow(2, H, H).abs().neg().exp();
  const at::Tensor averages = ops::gated_leaky_average(raw, gain, decay, leaky_average);
  return {ops::scaled_unit_norm(averages, at::ones({H}, x.options()), kNormEpsilon),
          averages.select(1, -1)};
}

ops::ValueParameters ContextTierImpl::value_parameters() const {
  return {{value->weight, value->bias},
          mix,
          {magnitude(value_log_scale), /*slope=*/1, kValueBound},
          kNormEpsilon};
}

at::Tensor ContextTierImpl::queries_of(const at::Tensor& keys, const at::Tensor& pairs) const {
  const ops::AdaptiveBandwidth bandwidth = {{bandwidth_log_offset, /*slope=*/1, kBandwidthBound},
                                            {bandwidth_log_factor, /*slope=*/1, kBandwidthBound},
                                            bandwidth_exponent};
  return keys * ops::adaptive_bandwidth(pairs.to(keys.options()), bandwidth).unsqueeze(-1);
}

at::Tensor ContextTierImpl::forward(const at::Tensor& x, TierReach reach,
                                    const ops::Dropout& dropout) {
  check_shape(x, {-1, -1, options_.channels}, "ContextTier: x");
  check_reach(reach);
  const int64_t H = options_.heads, steps = x.size(1);
  if (steps == 0) return at::zeros({x.size(0), 0, H, options_.head_width()}, x.options());
  const at::Tensor keys = keys_of(x, {}).keys;  // [B, T, H, D]
  const ops::ValueParameters parameters = value_parameters();
  const at::Tensor values =
      ops::complete_values(ops::raw_values(x, parameters, options_.precision), parameters);
  at::Tensor pairs = (at::arange(steps, at::kLong) + (1 - reach.delay)).clamp_min(0);  // [T]
  if (reach.pairs > 0) pairs = pairs.clamp_max(reach.pairs);
  return ops::causal_read(queries_of(keys, pairs), keys, values,
                          {.lag = reach.delay,
                           .window = reach.pairs,
                           .dropout = dropout,
                           .precision = options_.precision});
}

std::pair<at::Tensor, ContextTierState> ContextTierImpl::read(const at::Tensor& x,
                                                              ContextTierState state,
                                                              int64_t delay) {
  at::NoGradGuard no_grad;
  check_shape(x, {-1, -1, options_.channels}, "ContextTier: x");
  check_reach({.delay = delay});
  if (x.size(1) == 0) return {forward(x, {}), std::move(state)};
  ContextMemoryState& memory = state.memory;
  const auto [keys, leaky_key] = keys_of(x, memory.leaky_key);  // [B, T, H, D]
  const at::Tensor all_keys = after(memory.pending_key, keys);  // [B, T or T + 1, H, D]
  const ops::ValueParameters parameters = value_parameters();
  const at::Tensor raw =
      after(memory.pending_raw_value, ops::raw_values(x, parameters, options_.precision));
  const int64_t complete = raw.size(1) - 1, wait = delay - 1;
  const at::Tensor queries =
      queries_of(keys, readable_pairs(state, x.size(0), x.size(1), complete, wait));
  const at::Tensor read =
      store_and_retrieve(state, {all_keys.narrow(1, 0, complete),
                                 ops::complete_values(raw, parameters).narrow(1, 0, complete),
                                 queries, wait, options_.precision});
  memory.leaky_key = leaky_key.clone();
  memory.pending_key = all_keys.select(1, complete).clone();
  memory.pending_raw_value = raw.select(1, complete).clone();
  return {read, std::move(state)};
}

TierReading ContextTierImpl::last_reading(const at::Tensor& x, TierReach reach) {
  at::NoGradGuard no_grad;
  check_shape(x, {-1, -1, options_.channels}, "ContextTier: x");
  TESSERA_CHECK(x.size(1) > 0, "ContextTier: x has no steps, expected at least one");
  check_reach(reach);
  const int64_t last = x.size(1) - 1, end = std::max<int64_t>(0, x.size(1) - reach.delay);
  const int64_t count = reach.pairs > 0 ? std::min(end, reach.pairs) : end;
  const at::Tensor keys = keys_of(x, {}).keys;  // [B, T, H, D]
  const ops::ValueParameters parameters = value_parameters();
  const at::Tensor values =
      ops::complete_values(ops::raw_values(x, parameters, options_.precision), parameters);
  const auto held = [&](const at::Tensor& all) {
    return all.narrow(1, end - count, count).transpose(1, 2).contiguous();  // [B, H, N, D]
  };
  const at::Tensor query =
      queries_of(keys.narrow(1, last, 1), at::full({1}, count, at::kLong)).select(1, 0);
  const at::Tensor stored = held(values);
  return {end - count, {ops::memory_read(query.contiguous(), held(keys), stored).weights, stored}};
}

}  // namespace tessera
