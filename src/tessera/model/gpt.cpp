#include "tessera/model/gpt.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "tessera/memory/make_linear.h"
#include "tessera/model/initialisation.h"
#include "tessera/ops/dropout.h"
#include "tessera/ops/memory_read.h"
#include "tessera/ops/rotary.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

/// The tokens that each of `batch` sequences has read: one pair is stored of each.
std::vector<int64_t> positions_of(const StoredPairs& pairs, int64_t batch) {
  return pairs.rows() > 0 ? pairs.stored() : std::vector<int64_t>(batch, 0);
}

/// The positions of `length` tokens after the first ones of each sequence: [B, length].
at::Tensor positions_after(const std::vector<int64_t>& first, int64_t length) {
  return at::tensor(first, at::kLong).unsqueeze(1) + at::arange(length, at::kLong);
}

}  // namespace

void GptConfig::check() const {
  config::check_demands(*this, "model");
  check_heads(heads, channels);
  if (positions == Positions::kRotary && channels / heads % 2 != 0)
    throw UsageError("model.heads is {}: rotary positions need an even number of channels a head",
                     heads);
}

GptBlockImpl::GptBlockImpl(const GptConfig& config, at::Device device) : config_(config) {
  const auto linear = [&](int64_t in, int64_t out) {
    return make_linear(in, out, config.bias, device);
  };
  const int64_t C = config.channels;
  attention_norm = register_module("attention_norm", Norm(C, config.bias, device));
  query_key_value = register_module("query_key_value", linear(C, 3 * C));
  attention_output = register_module("attention_output", linear(C, C));
  feed_forward_norm = register_module("feed_forward_norm", Norm(C, config.bias, device));
  expand = register_module("expand", linear(C, 4 * C));
  contract = register_module("contract", linear(4 * C, C));
  if (config.positions == Positions::kAlibi) alibi_slopes_ = ops::alibi_slopes(config.heads);
}

GptBlockImpl::Heads GptBlockImpl::heads_of(const at::Tensor& x,
                                           const std::vector<int64_t>& positions) {
  const int64_t C = config_.channels, H = config_.heads;
  const at::Tensor all = mapped(x, query_key_value, config_.precision);
  const auto part = [&](int64_t index) {
    return all.narrow(2, index * C, C).unflatten(-1, {H, C / H});  // [B, T, H, D]
  };
  if (config_.positions != Positions::kRotary) return {part(0), part(1), part(2)};
  return {ops::rotary(part(0), positions), ops::rotary(part(1), positions), part(2)};
}

at::Tensor GptBlockImpl::attend(const Heads& heads, std::optional<uint64_t> dropout_seed) {
  const ops::Dropout dropout =
      dropout_seed ? ops::Dropout{config_.dropout, *derived_seed(dropout_seed, 0)} : ops::Dropout{};
  const double scale = 1.0 / std::sqrt(heads.queries.size(-1));
  const at::Tensor slopes =
      alibi_slopes_.defined() ? alibi_slopes_.to(heads.queries.options()) : at::Tensor();
  return ops::causal_attention(heads.queries, heads.keys, heads.values, scale, slopes, dropout,
                               config_.precision);
}

/// What is stored for ALiBi. The bias -slope (t - i) differs from slope * i by a constant of the
/// query, which a softmax does not see; so the position is one more channel of the key, and the
/// slope one more of the query.
GptBlockImpl::Heads GptBlockImpl::with_position_channel(
    const Heads& heads, const std::vector<int64_t>& positions) const {
  const auto& [queries, keys, values] = heads;
  const at::Tensor times = positions_after(positions, keys.size(1)).to(keys.options());
  const std::vector<int64_t> sizes = {keys.size(0), keys.size(1), keys.size(2), 1};
  return {at::cat({queries, alibi_slopes_.to(queries.options()).view({-1, 1}).expand(sizes)}, -1),
          at::cat({keys, times.view({sizes[0], sizes[1], 1, 1}).expand(sizes)}, -1),
          at::constant_pad_nd(values, {0, 1})};
}

at::Tensor GptBlockImpl::attention_residual(const at::Tensor& reads,
                                            std::optional<uint64_t> dropout_seed) {
  const at::Tensor combined = mapped(reads.flatten(2), attention_output, config_.precision);
  return with_dropout(combined, config_.dropout, dropout_seed, 1);
}

at::Tensor GptBlockImpl::feed_forward(const at::Tensor& x, std::optional<uint64_t> dropout_seed) {
  const at::Tensor wide =
      at::gelu(mapped(x, expand, config_.precision), config_.gelu == Gelu::kTanh ? "tanh" : "none");
  const at::Tensor narrow = mapped(wide, contract, config_.precision);
  return with_dropout(narrow, config_.dropout, dropout_seed, 2);
}

at::Tensor GptBlockImpl::forward(at::Tensor x, std::optional<uint64_t> dropout_seed) {
  const std::vector<int64_t> start(x.size(0), 0);
  const at::Tensor reads = attend(heads_of(attention_norm->forward(x), start), dropout_seed);
  x = x + attention_residual(reads, dropout_seed);
  return x + feed_forward(feed_forward_norm->forward(x), dropout_seed);
}

std::pair<at::Tensor, BlockTrace> GptBlockImpl::trace(at::Tensor x) {
  const std::vector<int64_t> positions(x.size(0), 0);
  const int64_t last = x.size(1) - 1;
  const Heads heads = heads_of(attention_norm->forward(x), positions);
  Heads stored = heads;
  stored.queries = heads.queries / std::sqrt(heads.queries.size(-1));
  if (alibi_slopes_.defined()) stored = with_position_channel(stored, positions);
  const auto by_head = [](const at::Tensor& all) { return all.transpose(1, 2).contiguous(); };
  const ops::MemoryReading reading = ops::memory_read(stored.queries.select(1, last).contiguous(),
                                                      by_head(stored.keys), by_head(stored.values));
  x = x + attention_residual(attend(heads, {}), {});
  const at::Tensor fed = feed_forward(feed_forward_norm->forward(x), {});  // [B, T, C]
  return {
      x + fed,
      {{{reading.weights, by_head(heads.values), attention_output->weight, attention_output->bias}},
       BlockUnit::kFeedForward,
       fed.select(1, last),
       {}}};
}

std::pair<at::Tensor, StoredPairs> GptBlockImpl::read(at::Tensor x, StoredPairs pairs) {
  const std::vector<int64_t> positions = positions_of(pairs, x.size(0));
  Heads heads = heads_of(attention_norm->forward(x), positions);
  const int64_t D = heads.queries.size(-1);
  heads.queries = heads.queries / std::sqrt(D);
  // In bfloat16 a position would keep no more than eight bits.
  const bool alibi = alibi_slopes_.defined();
  if (alibi) heads = with_position_channel(heads, positions);
  const at::Tensor reads =
      pairs.store_and_retrieve(heads.keys, heads.values, heads.queries,
                               alibi ? ops::Precision::kFloat32 : config_.precision);
  x = x + attention_residual(reads.narrow(-1, 0, D), {});
  return {x + feed_forward(feed_forward_norm->forward(x), {}), std::move(pairs)};
}

void GptBlockImpl::check_state(const StoredPairs& pairs, int64_t batch) const {
  TESSERA_CHECK(pairs.rows() == 0 || pairs.rows() == batch, "Gpt::read: the state has ",
                pairs.rows(), " sequences, the tokens ", batch);
  pairs.check_sizes(batch, config_.heads, key_width());
}

StoredPairs GptBlockImpl::state_from(const TensorFile& file, const std::string& prefix,
                                     PairOptions options) const {
  return StoredPairs::from_tensors(file, prefix, options, config_.heads, key_width());
}

Gpt::Gpt(const GptConfig& config, std::optional<uint64_t> seed, at::Device device)
    : TracedBlockNetwork(config, device) {
  if (config.positions == Positions::kLearned)
    position_embedding_ = register_parameter("position_embedding",
                                             at::zeros({config.window, config.channels}, device));
  if (seed) initialise(*seed);
}

void Gpt::keep_pairs_in(ops::WeightType type) {
  if (config_.positions == Positions::kAlibi)
    LanguageModel::keep_pairs_in(type);
  else
    BlockNetwork::keep_pairs_in(type);
}

std::vector<std::string> Gpt::weight_matrices() const {
  std::vector<std::string> names = TracedBlockNetwork::weight_matrices();
  std::erase(names, "position_embedding");
  return names;
}

at::Tensor Gpt::embed(const at::Tensor& tokens, const std::vector<StoredPairs>& blocks,
                      std::optional<uint64_t> dropout_seed) const {
  at::Tensor x = ops::embedding_rows(embedding_, tokens, config_.channels);  // [B, T, C]
  if (config_.positions == Positions::kLearned) {
    const std::vector<int64_t> first =
        blocks.empty() ? std::vector<int64_t>{0} : positions_of(blocks.front(), tokens.size(0));
    for (int64_t position : first)
      TESSERA_CHECK(position + tokens.size(1) <= config_.window, "a sequence of ",
                    position + tokens.size(1), " tokens is longer than the model's window of ",
                    config_.window);
    x = x + at::embedding(position_embedding_,
                          positions_after(first, tokens.size(1)).to(tokens.device()));
  }
  return with_dropout(x, config_.dropout, dropout_seed, config_.layers);
}

void Gpt::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  constexpr double kDeviation = 0.02;
  const double output_deviation = kDeviation / std::sqrt(2.0 * config_.layers);
  Initialiser draw(seed);
  draw.normal(embedding_, kDeviation);
  norm_->reset_parameters();
  if (position_embedding_.defined()) draw.normal(position_embedding_, kDeviation);
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    GptBlock one = block(layer);
    one->attention_norm->reset_parameters();
    one->feed_forward_norm->reset_parameters();
    draw.normal(one->query_key_value, kDeviation);
    draw.normal(one->expand, kDeviation);
    draw.normal(one->attention_output, output_deviation);
    draw.normal(one->contract, output_deviation);
  }
}

}  // namespace tessera
