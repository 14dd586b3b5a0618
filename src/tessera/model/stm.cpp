#include "tessera/model/stm.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/modules/activation.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/memory/make_linear.h"

namespace tessera {

void initialise_memories(TwoMemoryCell& cell, Initialiser& draw) {
  at::NoGradGuard no_grad;
  const TwoMemoryOptions& options = cell->options();
  const double D = static_cast<double>(options.width), N = static_cast<double>(options.slots);
  const double item_bound = 1 / std::sqrt(2 * D), relational_bound = 1 / std::sqrt(2 * D + N);
  draw.uniform(cell->item->initial, -item_bound, item_bound);
  draw.uniform(cell->relational->initial, -relational_bound, relational_bound);
  if (options.gated) {
    cell->item->input_bias.zero_();
    cell->item->forget_bias.fill_(1);
  }
  cell->self_attention->norm_weight.fill_(1);
  cell->self_attention->norm_bias.zero_();
  cell->relational->alpha1.fill_(options.alpha1.value);
  cell->relational->alpha2.fill_(options.alpha2.value);
  cell->relational->alpha3.fill_(options.alpha3.value);
}

namespace {

constexpr double kMostMatrixValues = 0x1p60;  // of one matrix: their bytes can be counted

}  // namespace

void StmConfig::check() const {
  config::check_demands(*this, "model");
  const double N = static_cast<double>(slots), D = static_cast<double>(width);
  const double R = static_cast<double>(distilled);
  const double readouts = static_cast<double>(has_head() ? readout : outputs);
  if (std::max({N * D * D, R * D * D, N * R * readouts}) > kMostMatrixValues)
    throw UsageError(
        "model.width is {}, model.slots {}, model.distilled {} and model.readout {}: together too "
        "large, a matrix would have more than 2^60 values",
        width, slots, distilled, readout);
  for (const auto& [name, factor] :
       {std::pair{"alpha1", alpha1}, {"alpha2", alpha2}, {"alpha3", alpha3}})
    if (!std::isfinite(factor.value))
      throw UsageError("model.{}.value is {}, expected a finite number", name, factor.value);
  if (variant != StmVariant::kCustom && equations != TwoMemoryEquations())
    throw UsageError(
        "model.equations is read only with model.variant = 'custom', which is '{}'; set it, or "
        "leave model.equations out",
        config::enum_name(variant));
}

TwoMemoryOptions StmConfig::cell_options() const {
  TwoMemoryOptions options;
  options.inputs = inputs;
  options.slots = slots;
  options.width = width;
  options.projection_hidden = projection_hidden;
  options.gated = gated;
  options.alpha1 = alpha1;
  options.alpha2 = alpha2;
  options.alpha3 = alpha3;
  options.equations = equations;
  options.precision = precision;
  if (variant == StmVariant::kPaper) options.equations = TwoMemoryEquations::of_paper();
  if (variant == StmVariant::kReinforcement)
    options.equations = TwoMemoryEquations::of_reinforcement();
  return options;
}

Stm::Stm(const StmConfig& config, std::optional<uint64_t> seed, at::Device device)
    : config_(config) {
  config.check();
  const auto linear = [&](int64_t in, int64_t out) {
    return make_linear(in, out, /*with_bias=*/true, device);
  };
  const int64_t slot_values = config.slots * config.distilled;
  cell = register_module("cell", TwoMemoryCell(config.cell_options(), device));
  distillation =
      register_module("distillation", linear(config.width * config.width, config.distilled));
  readout = register_module(
      "readout", linear(slot_values, config.has_head() ? config.readout : config.outputs));
  if (config.has_head_norm()) {
    head_norm_weight = register_parameter("head_norm_weight", at::ones({config.readout}, device));
    head_norm_bias = register_parameter("head_norm_bias", at::zeros({config.readout}, device));
  }
  if (config.has_head())
    head = register_module(
        "head", torch::nn::Sequential(linear(config.readout, config.hidden), torch::nn::ReLU(),
                                      linear(config.hidden, config.hidden), torch::nn::ReLU(),
                                      linear(config.hidden, config.outputs)));
  if (seed) initialise(*seed);
}

config::Json Stm::hyper_parameters() const {
  return config::to_json(config_);
}

TwoMemoryPass Stm::begin(const at::Tensor& x, const std::optional<TwoMemoryState>& state) {
  const at::Tensor inputs = placed_vectors(x, config_.inputs, distillation->weight, "Stm");
  return {cell, inputs.transpose(0, 1).contiguous(), state};
}

Stm::Sequence Stm::run(const at::Tensor& x, const std::optional<TwoMemoryState>& state,
                       int64_t first_output) {
  TwoMemoryPass pass = begin(x, state);
  const at::Tensor outputs = finish(pass, x, first_output);
  return {outputs, pass.state()};
}

at::Tensor Stm::forward(const at::Tensor& x, std::optional<uint64_t>, int64_t first_output) {
  TwoMemoryPass pass = begin(x, {});
  return finish(pass, x, first_output);  // without a state no R is formed after the last step
}

SequenceOutput Stm::read(const at::Tensor& x, SequenceState&& state, int64_t first_output) {
  at::NoGradGuard no_grad;
  Sequence next = run(x, state.as<TwoMemoryState>(), first_output);
  if (x.size(1) == 0) return {next.outputs, std::move(state)};
  return {next.outputs, SequenceState(std::move(next.state))};
}

SequenceState Stm::state_from(const TensorFile& file, const SequenceState&) const {
  return SequenceState(cell->state_from(file));
}

/// Runs the pass and distils R_t of every output step (eq. 14): [T - first_output, B, N, R].
/// R itself is distilled at the first output; from there on the distilled values, being linear in
/// R, follow eq. 12 by themselves, and what they need of every S_t is one product for all steps.
at::Tensor Stm::distil_outputs(TwoMemoryPass& pass, int64_t T, int64_t first_output) {
  std::vector<at::Tensor> distilled, factors, values;
  for (int64_t t = 0; t < T; ++t) {
    const ops::Associations candidate = pass.step();
    if (t == first_output)
      distilled.push_back(ops::distil(pass.relational_memory(), distillation->weight));
    if (t <= first_output) continue;
    factors.push_back(candidate.factors);
    values.push_back(candidate.values);
  }
  if (distilled.empty()) return {};
  if (!factors.empty()) {
    const at::Tensor candidates =
        ops::distil({at::cat(factors), at::cat(values)}, distillation->weight, config_.precision);
    for (const at::Tensor& candidate : candidates.chunk(factors.size()))
      distilled.push_back(cell->relational->blend(distilled.back(), candidate));
  }
  return at::stack(distilled) + distillation->bias;
}

at::Tensor Stm::finish(TwoMemoryPass& pass, const at::Tensor& x, int64_t first_output) {
  const int64_t B = x.size(0), T = x.size(1);
  check_first_output(first_output, T);
  const at::Tensor distilled = distil_outputs(pass, T, first_output);  // [T', B, N, R]
  if (!distilled.defined())
    return at::empty({B, 0, config_.outputs}, distillation->weight.options());
  at::Tensor read = readout->forward(distilled.flatten(2));  // [T', B, ..]
  if (config_.has_head_norm())
    read = at::layer_norm(read, {config_.readout}, head_norm_weight, head_norm_bias);
  return (config_.has_head() ? head->forward(read) : read).transpose(0, 1);
}

/// As the authors.
void Stm::initialise(uint64_t seed) {
  Initialiser draw(seed);
  for (const auto& module : modules(/*include_self=*/false))
    if (const auto* linear = module->as<torch::nn::Linear>()) draw.as_torch(*linear);
  initialise_memories(cell, draw);
  if (!config_.has_head_norm()) return;
  at::NoGradGuard no_grad;
  head_norm_weight.fill_(1);
  head_norm_bias.zero_();
}

}  // namespace tessera
