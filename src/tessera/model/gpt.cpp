#include "tessera/model/gpt.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/check_shape.h"
#include "tessera/model/initialisation.h"
#include "tessera/ops/activation_dropout.h"
#include "tessera/ops/causal_attention.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/rotary.h"

namespace tessera {
namespace {

/// ALiBi slopes (Press et al. 2022): a geometric series 2^(-8/H), 2^(-16/H), …, 2^-8.
at::Tensor geometric_slopes(int64_t heads) {
  return at::pow(2.0, at::arange(1, heads + 1, at::kDouble) * (-8.0 / heads)).to(at::kFloat);
}

/// The same position in every row, or an index per row.
bool level(const std::vector<int64_t>& positions) {
  return std::adjacent_find(positions.begin(), positions.end(), std::not_equal_to<>()) ==
         positions.end();
}

/// Rotary positions where the rows of x [B, T, H, D] may stand at different ones.
at::Tensor rotary_rows(const at::Tensor& x, const std::vector<int64_t>& positions) {
  if (level(positions)) return ops::rotary(x, positions.empty() ? 0 : positions.front());
  std::vector<at::Tensor> rows;
  for (size_t row = 0; row < positions.size(); ++row)
    rows.push_back(ops::rotary(x.narrow(0, row, 1), positions[row]));
  return at::cat(rows);
}

/// What is stored for ALiBi. The bias -slope (t - i) differs from slope * i by a constant of the
/// query, which a softmax does not see; so the position is one more channel of the key, and the
/// slope one more of the query. query, key, value [B, H, D] -> [B, H, D + 1].
GptBlockImpl::Heads with_position_channel(const GptBlockImpl::Heads& step, const at::Tensor& slopes,
                                          const at::Tensor& positions) {
  const auto& [query, key, value] = step;
  const std::vector<int64_t> sizes = {query.size(0), query.size(1), 1};
  return {at::cat({query, slopes.to(query.options()).view({1, -1, 1}).expand(sizes)}, -1),
          at::cat({key, positions.to(key.options()).view({-1, 1, 1}).expand(sizes)}, -1),
          at::constant_pad_nd(value, {0, 1})};
}

}  // namespace

void GptConfig::check() const {
  check_sizes(
      {{"vocabulary", vocabulary}, {"window", window}, {"heads", heads}, {"channels", channels}});
  check_count("layers", layers);
  check_heads(heads, channels);
  check_dropout_probability(dropout);
  if (positions == Positions::kRotary && channels / heads % 2 != 0)
    throw UsageError("model.heads is {}: rotary positions need an even number of channels a head",
                     heads);
}

GptBlockImpl::GptBlockImpl(const GptConfig& config) : config_(config) {
  const auto linear = [&](int64_t in, int64_t out) {
    return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(config.bias));
  };
  const int64_t C = config.channels;
  attention_norm = register_module("attention_norm", Norm(C, config.bias));
  query_key_value = register_module("query_key_value", linear(C, 3 * C));
  attention_output = register_module("attention_output", linear(C, C));
  feed_forward_norm = register_module("feed_forward_norm", Norm(C, config.bias));
  expand = register_module("expand", linear(C, 4 * C));
  contract = register_module("contract", linear(4 * C, C));
  if (config.positions == Positions::kAlibi) alibi_slopes_ = geometric_slopes(config.heads);
}

GptBlockImpl::Heads GptBlockImpl::heads_of(const at::Tensor& x,
                                           const std::vector<int64_t>& positions) {
  const int64_t C = config_.channels, H = config_.heads;
  const at::Tensor all =
      ops::linear(x, query_key_value->weight, query_key_value->bias, config_.precision);
  const auto part = [&](int64_t index) {
    return all.narrow(2, index * C, C).unflatten(-1, {H, C / H});  // [B, T, H, D]
  };
  if (config_.positions != Positions::kRotary) return {part(0), part(1), part(2)};
  return {rotary_rows(part(0), positions), rotary_rows(part(1), positions), part(2)};
}

at::Tensor GptBlockImpl::attend(const Heads& heads, std::optional<uint64_t> dropout_seed) {
  const ops::Dropout dropout =
      dropout_seed ? ops::Dropout{config_.dropout, *derived_seed(dropout_seed, 0)} : ops::Dropout{};
  const double scale = 1.0 / std::sqrt(heads.queries.size(-1));
  return ops::causal_attention(heads.queries, heads.keys, heads.values, scale, alibi_slopes_,
                               dropout, config_.precision);
}

at::Tensor GptBlockImpl::attend_and_store(const Heads& heads, StoredPairs& pairs) {
  Heads stored = heads;
  if (alibi_slopes_.defined()) {
    const at::Tensor steps = at::arange(heads.keys.size(1), heads.keys.options());
    stored.keys = at::cat(
        {heads.keys, steps.view({1, -1, 1, 1}).expand(heads.keys.narrow(-1, 0, 1).sizes())}, -1);
    stored.values = at::constant_pad_nd(heads.values, {0, 1});
  }
  pairs.store_sequence(stored.keys, stored.values);
  return attend(heads, {});
}

at::Tensor GptBlockImpl::attend_stored(const Heads& heads, StoredPairs& pairs,
                                       const std::vector<int64_t>& positions) {
  const int64_t D = heads.queries.size(-1);
  const at::Tensor first = at::tensor(positions, at::kLong);
  std::vector<at::Tensor> reads;
  for (int64_t t = 0; t < heads.queries.size(1); ++t) {
    Heads step = {heads.queries.select(1, t) / std::sqrt(D), heads.keys.select(1, t),
                  heads.values.select(1, t)};  // [B, H, D]
    if (alibi_slopes_.defined()) step = with_position_channel(step, alibi_slopes_, first + t);
    pairs.store(step.keys, step.values);
    const auto [read, weights] = pairs.retrieve(step.queries);
    pairs.count_use(weights);
    reads.push_back(read.narrow(-1, 0, D));
  }
  return at::stack(reads, 1);
}

at::Tensor GptBlockImpl::attention_residual(const at::Tensor& reads,
                                            std::optional<uint64_t> dropout_seed) {
  const at::Tensor combined = ops::linear(reads.flatten(2), attention_output->weight,
                                          attention_output->bias, config_.precision);
  if (!dropout_seed) return combined;
  return ops::activation_dropout(combined, {config_.dropout, *derived_seed(dropout_seed, 1)});
}

at::Tensor GptBlockImpl::feed_forward(const at::Tensor& x, std::optional<uint64_t> dropout_seed) {
  const at::Tensor wide = at::gelu(ops::linear(x, expand->weight, expand->bias, config_.precision),
                                   config_.gelu == Gelu::kTanh ? "tanh" : "none");
  const at::Tensor narrow = ops::linear(wide, contract->weight, contract->bias, config_.precision);
  if (!dropout_seed) return narrow;
  return ops::activation_dropout(narrow, {config_.dropout, *derived_seed(dropout_seed, 2)});
}

at::Tensor GptBlockImpl::forward(at::Tensor x, std::optional<uint64_t> dropout_seed) {
  const at::Tensor reads = attend(heads_of(attention_norm->forward(x), {}), dropout_seed);
  x = x + attention_residual(reads, dropout_seed);
  return x + feed_forward(feed_forward_norm->forward(x), dropout_seed);
}

at::Tensor GptBlockImpl::read(at::Tensor x, StoredPairs& pairs,
                              const std::vector<int64_t>& positions) {
  const Heads heads = heads_of(attention_norm->forward(x), positions);
  // Reading in one go does not tell how much each pair was read.
  const bool from_empty = pairs.counts().empty() && pairs.holds(x.size(1)) && !pairs.counts_use();
  x = x +
      attention_residual(
          from_empty ? attend_and_store(heads, pairs) : attend_stored(heads, pairs, positions), {});
  return x + feed_forward(feed_forward_norm->forward(x), {});
}

std::unique_ptr<LanguageModelState> GptState::clone() const {
  return std::make_unique<GptState>(*this);
}

std::unique_ptr<LanguageModelState> GptState::select(const std::vector<int64_t>& rows) const {
  TORCH_CHECK_VALUE(!positions.empty(), "GptState::select: a state that has read nothing");
  auto result = std::make_unique<GptState>();
  for (const auto& pairs : blocks) result->blocks.push_back(pairs.select(rows));
  for (int64_t row : rows) result->positions.push_back(positions.at(row));
  return result;
}

std::unique_ptr<LanguageModelState> GptState::stack(
    const std::vector<const LanguageModelState*>& others) const {
  auto result = std::make_unique<GptState>();
  result->positions = positions;
  for (size_t layer = 0; layer < blocks.size(); ++layer) {
    std::vector<const StoredPairs*> pairs = {&blocks[layer]};
    for (const auto* other : others)
      pairs.push_back(&dynamic_cast<const GptState&>(*other).blocks.at(layer));
    result->blocks.push_back(StoredPairs::stack(pairs));
  }
  for (const auto* other : others) {
    const auto& more = dynamic_cast<const GptState&>(*other).positions;
    result->positions.insert(result->positions.end(), more.begin(), more.end());
  }
  return result;
}

NamedTensors GptState::tensors() const {
  NamedTensors result = {{"positions", at::tensor(positions, at::kLong)}};
  for (size_t layer = 0; layer < blocks.size(); ++layer)
    for (auto& named : blocks[layer].tensors(fmt::format("blocks.{}.", layer)))
      result.push_back(std::move(named));
  return result;
}

Gpt::Gpt(const GptConfig& config, std::optional<uint64_t> seed) : config_(config) {
  config.check();
  embedding_ = register_parameter("embedding", at::zeros({config.vocabulary, config.channels}));
  if (config.positions == Positions::kLearned)
    position_embedding_ =
        register_parameter("position_embedding", at::zeros({config.window, config.channels}));
  for (int64_t layer = 0; layer < config.layers; ++layer) blocks_->push_back(GptBlock(config));
  register_module("blocks", blocks_);
  norm_ = register_module("norm", Norm(config.channels, config.bias));
  if (seed) initialise(*seed);
}

GptBlock Gpt::block(int64_t index) const {
  return GptBlock(blocks_->ptr<GptBlockImpl>(index));
}

at::Tensor Gpt::embed(const at::Tensor& tokens, const std::vector<int64_t>& positions) const {
  const at::Tensor x = at::embedding(embedding_, tokens);  // [B, T, C]
  if (config_.positions != Positions::kLearned) return x;
  const at::Tensor steps = at::arange(tokens.size(1), tokens.options());
  if (positions.empty()) return x + at::embedding(position_embedding_, steps);
  const at::Tensor first =
      at::tensor(positions, at::kLong).to(tokens.device()).unsqueeze(1);  // [B, 1]
  return x + at::embedding(position_embedding_, first + steps);
}

at::Tensor Gpt::hidden(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed) {
  check_tokens(tokens);
  check_length(0, tokens.size(1));
  if (tokens.size(1) == 0) return embed(tokens, {});
  at::Tensor x = embed(tokens, {});
  if (dropout_seed)
    x = ops::activation_dropout(x, {config_.dropout, *derived_seed(dropout_seed, config_.layers)});
  for (int64_t layer = 0; layer < config_.layers; ++layer)
    x = block(layer)->forward(x, derived_seed(dropout_seed, layer));
  return norm_->forward(x);
}

std::unique_ptr<LanguageModelState> Gpt::empty_state(MemoryBound bound) const {
  auto state = std::make_unique<GptState>();
  state->blocks.assign(config_.layers, StoredPairs(bound));
  return state;
}

void Gpt::check_state(const GptState& state, const std::vector<int64_t>& positions,
                      const at::Tensor& tokens) const {
  TORCH_CHECK_VALUE(static_cast<int64_t>(state.blocks.size()) == config_.layers, "a state of ",
                    state.blocks.size(), " layers meets a model of ", config_.layers);
  check_shape(tokens, {static_cast<int64_t>(positions.size()), -1},
              "Gpt::read: tokens for the state's sequences");
  for (int64_t position : positions) check_length(position, tokens.size(1));
}

std::unique_ptr<LanguageModelState> Gpt::state_from(const TensorFile& file,
                                                    MemoryBound bound) const {
  const int64_t H = config_.heads, D = config_.channels / config_.heads;
  const int64_t width = config_.positions == Positions::kAlibi ? D + 1 : D;
  const at::Tensor positions = file.at("positions", {-1}, at::kLong).contiguous();
  auto state = std::make_unique<GptState>();
  state->positions.assign(positions.data_ptr<int64_t>(),
                          positions.data_ptr<int64_t>() + positions.numel());
  for (int64_t position : state->positions)
    if (position < 1)
      throw DataError(file.path, "'positions' holds {}, expected 1 or more", position);
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    state->blocks.push_back(
        StoredPairs::from_tensors(file, fmt::format("blocks.{}.", layer), bound, H, width));
    if (state->blocks.back().counts().size() != state->positions.size())
      throw DataError(file.path, "'blocks.{}.' has {} sequences, 'positions' {}", layer,
                      state->blocks.back().counts().size(), state->positions.size());
  }
  return state;
}

at::Tensor Gpt::read(const at::Tensor& tokens, LanguageModelState& state) {
  at::NoGradGuard no_grad;
  check_tokens(tokens);
  auto& known = dynamic_cast<GptState&>(state);
  std::vector<int64_t> positions = known.positions;
  if (positions.empty()) positions.assign(tokens.size(0), 0);
  check_state(known, positions, tokens);
  if (tokens.size(1) == 0) return embed(tokens, {});
  at::Tensor x = embed(tokens, positions);
  for (int64_t layer = 0; layer < config_.layers; ++layer)
    x = block(layer)->read(x, known.blocks.at(layer), positions);
  for (auto& position : positions) position += tokens.size(1);
  known.positions = std::move(positions);
  return norm_->forward(x);
}

void Gpt::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  constexpr double kDeviation = 0.02;
  const double output_deviation = kDeviation / std::sqrt(2.0 * config_.layers);
  Initialiser draw(seed);
  draw.normal(embedding_, kDeviation);
  norm_->reset();
  if (position_embedding_.defined()) draw.normal(position_embedding_, kDeviation);
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    GptBlock one = block(layer);
    one->attention_norm->reset();
    one->feed_forward_norm->reset();
    draw.normal(one->query_key_value, kDeviation);
    draw.normal(one->expand, kDeviation);
    draw.normal(one->attention_output, output_deviation);
    draw.normal(one->contract, output_deviation);
  }
}

}  // namespace tessera
