#include "tessera/model/stm.h"

#include <ATen/ATen.h>
#include <torch/nn/modules/activation.h>

#include <cmath>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/model/initialisation.h"

namespace tessera {
namespace {

/// Uniform in ±bound.
void draw_uniform(Initialiser& draw, const at::Tensor& parameter, double bound) {
  at::NoGradGuard no_grad;
  draw.uniform(parameter);
  at::Tensor(parameter).mul_(2 * bound).sub_(bound);
}

}  // namespace

void StmConfig::check() const {
  check_sizes({{"inputs", inputs},
               {"outputs", outputs},
               {"slots", slots},
               {"width", width},
               {"distilled", distilled},
               {"readout", readout},
               {"hidden", hidden}});
  if (projection_hidden != 0) check_sizes({{"projection_hidden", projection_hidden}});
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
  options.equations = variant == StmVariant::kPaper ? TwoMemoryEquations::of_paper() : equations;
  return options;
}

Stm::Stm(const StmConfig& config, std::optional<uint64_t> seed) : config_(config) {
  using torch::nn::Linear;
  config.check();
  const int64_t slot_values = config.slots * config.distilled;
  cell = register_module("cell", TwoMemoryCell(config.cell_options()));
  distillation =
      register_module("distillation", Linear(config.width * config.width, config.distilled));
  readout = register_module(
      "readout", Linear(slot_values, config.has_head() ? config.readout : config.outputs));
  if (config.has_head())
    head = register_module(
        "head", torch::nn::Sequential(Linear(config.readout, config.hidden), torch::nn::ReLU(),
                                      Linear(config.hidden, config.hidden), torch::nn::ReLU(),
                                      Linear(config.hidden, config.outputs)));
  if (seed) initialise(*seed);
}

Stm::Sequence Stm::forward(const at::Tensor& x, const std::optional<TwoMemoryState>& state,
                           int64_t first_output) {
  TwoMemoryPass pass(cell, x, state);
  const int64_t T = x.size(0);
  TORCH_CHECK_VALUE(first_output >= 0 && first_output <= T, "Stm: first_output is ", first_output,
                    ", expected 0 to ", T, ", the number of steps");
  const at::Tensor distilled = distil_outputs(pass, T, first_output);  // [T', B, N, R]
  const at::Tensor y = distilled.defined()
                           ? output(distilled)
                           : at::empty({0, x.size(1), config_.outputs}, x.options());
  return {y, pass.state()};
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
        ops::distil({at::cat(factors), at::cat(values)}, distillation->weight);
    for (const at::Tensor& candidate : candidates.chunk(factors.size()))
      distilled.push_back(cell->relational->blend(distilled.back(), candidate));
  }
  return at::stack(distilled) + distillation->bias;
}

at::Tensor Stm::output(const at::Tensor& distilled) {
  const at::Tensor read = readout->forward(distilled.flatten(2));  // [T', B, ..]
  return config_.has_head() ? head->forward(read) : read;
}

Stm::Step Stm::step(const at::Tensor& x, const TwoMemoryState& state) {
  TORCH_CHECK_VALUE(x.dim() == 2, "Stm: x has ", x.dim(), " dimensions, expected [B, in]");
  const Sequence one = forward(x.unsqueeze(0), state);
  return {one.y[0], one.state};
}

int64_t Stm::parameter_count() const {
  int64_t count = 0;
  for (const auto& parameter : parameters()) count += parameter.numel();
  return count;
}

/// As the authors: PyTorch's linear maps, memories as linear maps of 2D or 2D + N inputs.
void Stm::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  Initialiser draw(seed);
  for (const auto& module : modules(/*include_self=*/false))
    if (const auto* linear = module->as<torch::nn::Linear>()) {
      const double bound = 1 / std::sqrt(linear->weight.size(1));
      draw_uniform(draw, linear->weight, bound);
      if (linear->bias.defined()) draw_uniform(draw, linear->bias, bound);
    }
  const double D = static_cast<double>(config_.width), N = static_cast<double>(config_.slots);
  draw_uniform(draw, cell->item->initial, 1 / std::sqrt(2 * D));
  draw_uniform(draw, cell->relational->initial, 1 / std::sqrt(2 * D + N));
  if (config_.gated) {
    cell->item->input_bias.zero_();
    cell->item->forget_bias.fill_(1);
  }
  cell->self_attention->norm_weight.fill_(1);
  cell->self_attention->norm_bias.zero_();
  cell->relational->alpha1.fill_(config_.alpha1.value);
  cell->relational->alpha2.fill_(config_.alpha2.value);
  cell->relational->alpha3.fill_(config_.alpha3.value);
}

}  // namespace tessera
