#include "tessera/model/memory_mosaic_v2.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/random.h"
#include "tessera/memory/make_linear.h"
#include "tessera/model/initialisation.h"
#include "tessera/ops/dropout.h"

namespace tessera {
namespace {

// The paper's sizes are these parts of its window of 4096 tokens.
constexpr int64_t kShortTermPart = 16, kDelayPart = 64, kLongestDelayPart = 16;

int64_t given_or(int64_t value, int64_t otherwise) {
  return value != 0 ? value : std::max<int64_t>(1, otherwise);
}

}  // namespace

int64_t MemoryMosaicV2Config::short_term_pairs() const {
  return given_or(short_term, window / kShortTermPart);
}

int64_t MemoryMosaicV2Config::first_delay() const {
  return given_or(delay, window / kDelayPart);
}

int64_t MemoryMosaicV2Config::last_delay() const {
  return given_or(longest_delay, std::max(first_delay(), window / kLongestDelayPart));
}

void MemoryMosaicV2Config::check() const {
  config::check_demands(*this, "model");
  check_sizes({{"short_term", short_term_pairs()},
               {"delay", first_delay()},
               {"longest_delay", last_delay()}});
  check_sizes({{"persistent_width", swiglu_width()}});  // of channels that are few by now
  check_heads(heads, channels);
  if (last_delay() < first_delay())
    throw UsageError("model.longest_delay is {}, expected at least model.delay = {}", last_delay(),
                     first_delay());
  if (last_delay() > std::max<int64_t>(1, window - 1))
    throw UsageError(
        "model.longest_delay is {}: in a window of model.window = {} tokens no pair would reach "
        "the long-term memory; make it smaller",
        last_delay(), window);
}

MosaicV2BlockImpl::MosaicV2BlockImpl(const MemoryMosaicV2Config& config, at::Device device)
    : config_(config) {
  const int64_t C = config.channels, width = config.swiglu_width();
  const MemoryOptions options = {.channels = C,
                                 .heads = config.heads,
                                 .bias = config.bias,
                                 .dropout = config.dropout,
                                 .precision = config.precision,
                                 .device = device};
  context_norm = register_module("context_norm", Norm(C, config.bias, device));
  context = register_module("context",
                            TieredMemory(options, config.short_term_pairs(), config.first_delay()));
  persistent_norm = register_module("persistent_norm", Norm(C, config.bias, device));
  expand = register_module("expand", make_linear(C, 2 * width, config.bias, device));
  contract = register_module("contract", make_linear(width, C, config.bias, device));
}

at::Tensor MosaicV2BlockImpl::persistent(const at::Tensor& x,
                                         std::optional<uint64_t> dropout_seed) {
  const auto halves = mapped(x, expand, config_.precision).chunk(2, -1);  // [B, T, d']
  const at::Tensor y = mapped(at::silu(halves[0]) * halves[1], contract, config_.precision);
  return with_dropout(y, config_.dropout, dropout_seed, 1);
}

at::Tensor MosaicV2BlockImpl::forward(at::Tensor x, std::optional<uint64_t> dropout_seed,
                                      std::optional<int64_t> delay) {
  x = x + context->forward(context_norm->forward(x), derived_seed(dropout_seed, 0), delay);
  return x + persistent(persistent_norm->forward(x), dropout_seed);
}

std::pair<at::Tensor, BlockTrace> MosaicV2BlockImpl::trace(at::Tensor x) {
  const at::Tensor normed = context_norm->forward(x);
  const auto [recent, older] = context->last_readings(normed);
  const auto halves =
      ops::as_floats(context->output->weight, 2 * config_.channels).chunk(2, 1);  // [C, C] each
  x = x + context->forward(normed);
  const at::Tensor from_persistent = persistent(persistent_norm->forward(x), {});  // [B, T, C]
  const auto traced = [](MemoryTier tier, const TierReading& reading, const at::Tensor& output,
                         const at::Tensor& bias) {
    return TracedReading{reading.pairs.weights, reading.pairs.values, output, bias, tier,
                         reading.first_pair};
  };
  return {x + from_persistent,
          {{traced(MemoryTier::kShortTerm, recent, halves[0], context->output->bias),
            traced(MemoryTier::kLongTerm, older, halves[1], {})},
           BlockUnit::kPersistentMemory,
           from_persistent.select(1, x.size(1) - 1),
           {}}};
}

std::pair<at::Tensor, TieredMemoryState> MosaicV2BlockImpl::read(at::Tensor x,
                                                                 TieredMemoryState state) {
  at::Tensor from_context;
  std::tie(from_context, state) = context->read(context_norm->forward(x), std::move(state));
  x = x + from_context;
  return {x + persistent(persistent_norm->forward(x), {}), std::move(state)};
}

MemoryMosaicV2::MemoryMosaicV2(const MemoryMosaicV2Config& config, std::optional<uint64_t> seed,
                               at::Device device)
    : TracedBlockNetwork(config, device) {
  if (seed) initialise(*seed);
}

at::Tensor MemoryMosaicV2::hidden(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed) {
  at::Tensor x = embed(placed_tokens(tokens), {}, dropout_seed);  // [B, T, C]
  if (tokens.size(1) == 0) return x;
  std::optional<int64_t> delay;
  if (const auto seed = derived_seed(dropout_seed, config_.layers)) {
    const int64_t first = config_.first_delay();
    delay =
        first + static_cast<int64_t>(RandomStream(*seed).below(config_.last_delay() - first + 1));
  }
  for (int64_t layer = 0; layer < config_.layers; ++layer)
    x = block(layer)->forward(x, derived_seed(dropout_seed, layer), delay);
  return norm_->forward(x);
}

void MemoryMosaicV2::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  Initialiser draw(seed);
  draw.cut_normal(embedding_, 1 / std::sqrt(2.0 * config_.channels));
  norm_->reset_parameters();
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    MosaicV2Block one = block(layer);
    one->context_norm->reset_parameters();
    one->persistent_norm->reset_parameters();
    const auto draw_map = [&](const torch::nn::Linear& map) {
      draw.cut_normal(map, 1 / std::sqrt(2.0 * map->weight.size(1) * (layer + 1)));
    };
    for (ContextTier tier : {one->context->short_term, one->context->long_term}) {
      tier->reset_scalars();
      draw.uniform(tier->mix);
      for (const auto& map : {tier->key, tier->gates, tier->value}) draw_map(map);
    }
    for (const auto& map : {one->context->output, one->expand, one->contract}) draw_map(map);
  }
}

ModelKind memory_mosaic_v2_kind() {
  return model_kind_of<MemoryMosaicV2>(
      "network of short-term, long-term and persistent memories (Zhang & Bottou 2025)");
}

}  // namespace tessera
