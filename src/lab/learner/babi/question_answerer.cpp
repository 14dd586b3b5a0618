#include "lab/learner/babi/question_answerer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/modules/activation.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/memory/make_linear.h"
#include "tessera/model/stm.h"
#include "tessera/ops/batched_product.h"
#include "tessera/ops/layer_norm.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

constexpr int64_t kHops = 3;
constexpr double kHopNormEpsilon = 1e-12;
constexpr double kMostStoryValues = 0x1p60;  // of one tensor: their bytes can be counted

}  // namespace

RelationalInferenceImpl::RelationalInferenceImpl(const QuestionAnswererConfig& config,
                                                 at::Device device) {
  const auto linear = [&](int64_t in, int64_t out) {
    return make_linear(in, out, /*with_bias=*/true, device);
  };
  const auto mlp = [&](int64_t outputs) {
    return torch::nn::Sequential(linear(config.channels, config.hidden), torch::nn::Tanh(),
                                 linear(config.hidden, outputs), torch::nn::Tanh());
  };
  entity = register_module("entity", mlp(config.width));
  for (int64_t hop = 0; hop < kHops; ++hop) relations->push_back(mlp(config.slots));
  register_module("relations", relations);
  norm_weight = register_parameter("norm_weight", at::ones({kHops, config.width}, device));
  norm_bias = register_parameter("norm_bias", at::zeros({kHops, config.width}, device));
  answers = register_module(
      "answers", make_linear(config.width, config.vocabulary, /*with_bias=*/false, device));
}

at::Tensor RelationalInferenceImpl::forward(const at::Tensor& questions, const Read& read) {
  check_shape(questions, {-1, -1, entity[0]->as<torch::nn::Linear>()->options.in_features()},
              "RelationalInference: questions");
  at::Tensor found = entity->forward(questions), sum;  // [B, C, D]
  for (int64_t hop = 0; hop < kHops; ++hop) {
    const at::Tensor slots =
        relations[hop]->as<torch::nn::Sequential>()->forward(questions);  // [B, C, N]
    found = ops::layer_norm(read(slots, found), norm_weight[hop], norm_bias[hop], kHopNormEpsilon);
    sum = hop == 0 ? found : sum + found;
  }
  return answers->forward(sum);
}

void QuestionAnswererConfig::check() const {
  config::check_demands(*this, "model");
  const double N = static_cast<double>(slots), D = static_cast<double>(width);
  if (N * D * D > kMostStoryValues)
    throw UsageError(
        "model.width is {} and model.slots {}: together too large, the relational memory would "
        "have more than 2^60 values",
        width, slots);
}

TwoMemoryOptions QuestionAnswererConfig::cell_options() const {
  TwoMemoryOptions options;
  options.inputs = channels;
  options.slots = slots;
  options.width = width;
  options.projection_hidden = hidden;
  options.alpha1 = {1, /*learned=*/false};
  options.alpha3 = {0, /*learned=*/false};
  return options;
}

QuestionAnswerer::QuestionAnswerer(const QuestionAnswererConfig& config,
                                   std::optional<uint64_t> seed, at::Device device)
    : config_(config) {
  config.check();
  embedding =
      register_parameter("embedding", at::zeros({config.vocabulary, config.channels}, device));
  positions = register_parameter("positions", at::zeros({config.words, config.channels}, device));
  cell = register_module("cell", TwoMemoryCell(config.cell_options(), device));
  inference = register_module("inference", RelationalInference(config, device));
  if (seed) initialise(*seed);
}

/// [.., W] -> [.., E].
at::Tensor QuestionAnswerer::encode(const at::Tensor& sentences, std::string_view what) const {
  check_shape(sentences, {-1, -1, config_.words}, what);
  check_token_ids(sentences, 0, config_.vocabulary, "QuestionAnswerer: word");
  const at::Tensor ids = sentences.to(embedding.device());
  // Differs from the paper's code: there padding is embedded like a word, and the sentences of
  // padding behind a story are read.
  const at::Tensor is_word = ids.ne(kPadding).unsqueeze(-1).to(embedding.scalar_type());
  return (at::embedding(embedding, ids) * is_word * positions).sum(-2);
}

at::Tensor QuestionAnswerer::answer(const at::Tensor& sentences, const at::Tensor& questions,
                                    const at::Tensor& after) {
  const at::Tensor x = encode(sentences, "QuestionAnswerer: sentences");  // [B, T, E]
  const at::Tensor asked = encode(questions, "QuestionAnswerer: questions");
  const int64_t B = x.size(0), T = x.size(1);
  check_shape(questions, {B, -1, config_.words}, "QuestionAnswerer: questions");
  check_shape(after, {B, questions.size(1)}, "QuestionAnswerer: after");
  TESSERA_CHECK(after.scalar_type() == at::kLong &&
                    (after.numel() == 0 || !after.is_cpu() ||
                     (after.min().item<int64_t>() >= 0 && after.max().item<int64_t>() <= T)),
                "QuestionAnswerer: after is not int64 from 0 to the ", T, " sentences there are");

  const ops::Associations written = everything_written(x);
  const at::Tensor factors = written.factors.flatten(2).transpose(1, 2);  // [B, N D, T N]
  const at::Tensor sentence = at::arange(T, after.options()).repeat_interleave(config_.slots);
  const at::Tensor told = after.unsqueeze(2).gt(sentence).to(x.options());  // [B, C, T N]
  const at::Tensor untold = cell->relational->initial.unsqueeze(0);
  // α1 is 1: the memory after some sentences is the first one and what each of them has written.
  return inference->forward(asked, [&](const at::Tensor& slots, const at::Tensor& patterns) {
    const at::Tensor queries = (slots.unsqueeze(3) * patterns.unsqueeze(2)).flatten(2);
    const at::Tensor shares = ops::batched_product(queries, factors) * told;  // of each value
    return ops::contract(untold, slots, patterns, ops::ReadSide::kKeys) +
           ops::batched_product(shares, written.values);
  });
}

/// The associations of all steps: factors [B, T N, N, D], values [B, T N, D].
ops::Associations QuestionAnswerer::everything_written(const at::Tensor& x) {
  const int64_t B = x.size(0), T = x.size(1), N = config_.slots, D = config_.width;
  TwoMemoryPass pass(cell, x.transpose(0, 1).contiguous(), {});
  std::vector<at::Tensor> factors = {at::empty({B, 0, N, D}, x.options())};
  std::vector<at::Tensor> values = {at::empty({B, 0, D}, x.options())};
  for (int64_t t = 0; t < T; ++t) {
    const ops::Associations candidate = pass.step();
    factors.push_back(candidate.factors);
    values.push_back(candidate.values);
  }
  return {at::cat(factors, 1), at::cat(values, 1)};
}

at::Tensor QuestionAnswerer::forward(const at::Tensor& sentences, std::optional<uint64_t>,
                                     int64_t first_output) {
  check_shape(sentences, {-1, -1, config_.words}, "QuestionAnswerer: sentences");
  const int64_t B = sentences.size(0), T = sentences.size(1);
  check_first_output(first_output, T);
  const at::Tensor after = at::arange(first_output, T, at::kLong).expand({B, T - first_output});
  return answer(sentences.slice(1, 0, std::max<int64_t>(T - 1, 0)),
                sentences.slice(1, first_output), after);
}

SequenceState QuestionAnswerer::empty_state() const {
  return SequenceState(TwoMemoryState());
}

SequenceOutput QuestionAnswerer::read(const at::Tensor& sentences, SequenceState&& state,
                                      int64_t first_output) {
  at::NoGradGuard no_grad;
  const at::Tensor x = encode(sentences, "QuestionAnswerer: sentences");  // [B, T, E]
  const int64_t B = x.size(0), T = x.size(1);
  check_first_output(first_output, T);
  TwoMemoryPass pass(cell, x.transpose(0, 1).contiguous(), state.as<TwoMemoryState>());
  std::vector<at::Tensor> outputs = {at::empty({B, 0, config_.vocabulary}, x.options())};
  for (int64_t t = 0; t < T; ++t) {
    if (t >= first_output)
      outputs.push_back(inference->forward(
          x.narrow(1, t, 1), [&](const at::Tensor& slots, const at::Tensor& patterns) {
            return ops::contract(pass.relational_memory(), slots, patterns,
                                 cell->options().equations.relational_read);
          }));
    pass.step();
  }
  if (T == 0) return {outputs.front(), std::move(state)};
  return {at::cat(outputs, 1), SequenceState(pass.state())};
}

SequenceState QuestionAnswerer::state_from(const TensorFile& file, const SequenceState&) const {
  return SequenceState(cell->state_from(file));
}

/// As the authors: the cell as theirs, the inference's maps by Glorot & Bengio 2010.
void QuestionAnswerer::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  Initialiser draw(seed);
  draw.uniform(embedding, -config_.first_words, config_.first_words);
  positions.fill_(config_.first_positions);
  if (const double spread = config_.position_spread; spread > 0)
    draw.uniform(positions, config_.first_positions - spread, config_.first_positions + spread);
  for (const auto& part : cell->modules(/*include_self=*/false))
    if (const auto* linear = part->as<torch::nn::Linear>()) draw.as_torch(*linear);
  initialise_memories(cell, draw);
  for (const auto& part : inference->modules(/*include_self=*/false))
    if (const auto* linear = part->as<torch::nn::Linear>()) {
      const double sizes = linear->weight.size(0) + linear->weight.size(1);
      draw.uniform(linear->weight, -std::sqrt(6 / sizes), std::sqrt(6 / sizes));
      if (linear->bias.defined()) linear->bias.zero_();
    }
  inference->norm_weight.fill_(1);
  inference->norm_bias.zero_();
}

}  // namespace tessera
