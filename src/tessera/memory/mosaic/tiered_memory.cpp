#include "tessera/memory/mosaic/tiered_memory.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "tessera/base/random.h"
#include "tessera/memory/detail/output_projection.h"
#include "tessera/memory/make_linear.h"
#include "tessera/memory/rows_of_states.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

enum class Tier : uint64_t { kShortTerm, kLongTerm };

/// The dropout of a tier's weights: a mask of its own.
ops::Dropout dropout_of(Tier tier, const MemoryOptions& options, std::optional<uint64_t> seed) {
  if (!seed || options.dropout == 0) return {};
  return {options.dropout, RandomStream(*seed, static_cast<uint64_t>(tier))()};
}

}  // namespace

TieredMemoryState TieredMemoryState::stack(const std::vector<const TieredMemoryState*>& parts) {
  TieredMemoryState result;
  result.short_term = stacked(parts, &TieredMemoryState::short_term);
  result.long_term = stacked(parts, &TieredMemoryState::long_term);
  return result;
}

TieredMemoryState TieredMemoryState::select(const std::vector<int64_t>& rows) const {
  TieredMemoryState result;
  result.short_term = short_term.select(rows);
  result.long_term = long_term.select(rows);
  return result;
}

NamedTensors TieredMemoryState::tensors(const std::string& prefix) const {
  NamedTensors result = short_term.tensors(prefix + "short_term.");
  for (auto& named : long_term.tensors(prefix + "long_term.")) result.push_back(std::move(named));
  return result;
}

TieredMemoryImpl::TieredMemoryImpl(const MemoryOptions& options, int64_t short_term_pairs,
                                   int64_t delay)
    : options_(options),
      short_reach_{.delay = 1, .pairs = short_term_pairs},
      long_reach_{.delay = delay, .pairs = 0} {
  TESSERA_CHECK(short_term_pairs >= 1 && delay >= 1, "TieredMemory: a short-term memory of ",
                short_term_pairs, " pairs and a delay of ", delay, "; expected 1 or more of each");
  reset();
}

void TieredMemoryImpl::reset() {
  const int64_t C = options_.channels;
  short_term = register_module("short_term", ContextTier(options_));
  long_term = register_module("long_term", ContextTier(options_));
  output = register_module("output", make_linear(2 * C, C, options_.bias, options_.device));
}

at::Tensor TieredMemoryImpl::forward(const at::Tensor& x, std::optional<uint64_t> dropout_seed,
                                     std::optional<int64_t> delay) {
  const TierReach long_reach = delay ? TierReach{.delay = *delay} : long_reach_;
  const at::Tensor recent =
      short_term->forward(x, short_reach_, dropout_of(Tier::kShortTerm, options_, dropout_seed));
  const at::Tensor older =
      long_term->forward(x, long_reach, dropout_of(Tier::kLongTerm, options_, dropout_seed));
  return project_output(at::cat({recent, older}, 2), output, options_, dropout_seed);
}

PairOptions TieredMemoryImpl::short_term_options(PairOptions options) const {
  const int64_t pairs = options.bound.pairs > 0 ? std::min(options.bound.pairs, short_reach_.pairs)
                                                : short_reach_.pairs;
  options.bound = {.pairs = pairs, .eviction = Eviction::kOldest};
  return options;
}

std::pair<at::Tensor, TieredMemoryState> TieredMemoryImpl::read(const at::Tensor& x,
                                                                TieredMemoryState state) {
  at::NoGradGuard no_grad;
  check_shape(x, {-1, -1, options_.channels}, "TieredMemory: x");
  check_state(state, x.size(0));
  if (state.rows() == 0) state.short_term = ContextTierState(short_term_options(state.options()));
  at::Tensor recent, older;
  std::tie(recent, state.short_term) =
      short_term->read(x, std::move(state.short_term), short_reach_.delay);
  std::tie(older, state.long_term) =
      long_term->read(x, std::move(state.long_term), long_reach_.delay);
  return {project_output(at::cat({recent, older}, 2), output, options_, {}), std::move(state)};
}

void TieredMemoryImpl::check_state(const TieredMemoryState& state, int64_t batch) const {
  const ContextTierState &recent = state.short_term, &older = state.long_term;
  if (!older.memory.leaky_key.defined()) return;
  check_shape(older.memory.leaky_key, {batch, options_.heads, options_.head_width()},
              "TieredMemory: the state's leaky average");
  TESSERA_CHECK(recent.fits(short_reach_.delay) && older.fits(long_reach_.delay) &&
                    recent.memory.pairs.options() == short_term_options(state.options()),
                "TieredMemory: the state is one of another short-term memory or delay than ",
                short_reach_.pairs, " pairs and ", long_reach_.delay);
}

TieredMemoryState TieredMemoryImpl::state_from(const TensorFile& file, const std::string& prefix,
                                               PairOptions options) const {
  const auto tier = [&](const char* name, PairOptions of_tier, TierReach reach) {
    return ContextTierState::from_tensors(file, prefix + name, of_tier, options_.heads,
                                          options_.head_width(), reach.delay);
  };
  TieredMemoryState state;
  state.short_term = tier("short_term.", short_term_options(options), short_reach_);
  state.long_term = tier("long_term.", options, long_reach_);
  if (state.short_term.rows() != state.rows())
    throw DataError(file.path, "'{}short_term.' has {} sequences, '{}long_term.' {}", prefix,
                    state.short_term.rows(), prefix, state.rows());
  return state;
}

std::pair<TierReading, TierReading> TieredMemoryImpl::last_readings(const at::Tensor& x) {
  return {short_term->last_reading(x, short_reach_), long_term->last_reading(x, long_reach_)};
}

}  // namespace tessera
