#include "lab/baseline/recurrent_network.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>

#include "lab/baseline/lstm_layer.h"
#include "tessera/base/error.h"
#include "tessera/memory/make_linear.h"
#include "tessera/model/block_network.h"
#include "tessera/model/initialisation.h"
#include "tessera/tensor/check.h"

namespace tessera {

namespace {

constexpr double kMostStateValues = 0x1p56;  // times a few: their bytes can be counted

}  // namespace

void check_product(std::initializer_list<std::pair<std::string_view, int64_t>> fields) {
  double product = 1;
  std::string named;
  for (const auto& [name, value] : fields) {
    product *= static_cast<double>(value);
    named += fmt::format("{}model.{} is {}", named.empty() ? "" : ", ", name, value);
  }
  if (product > kMostStateValues)
    throw UsageError("{}: together too large, their product may be at most 2^56", named);
}

RecurrentNetwork::RecurrentNetwork(Layout layout, at::Device device) : layout_(std::move(layout)) {
  for (const StatePart& part : layout_.state) {
    std::vector<int64_t> sizes = part.sizes;
    std::ranges::replace(sizes, -1, 1);
    const at::Tensor zeros = at::zeros(sizes, device);
    first_.push_back(part.learned ? register_parameter("first_" + part.name, zeros) : zeros);
  }
  head_ = register_module(
      "head", make_linear(layout_.features, layout_.outputs, /*with_bias=*/true, device));
}

at::Tensor RecurrentNetwork::placed(const at::Tensor& x) const {
  return placed_vectors(x, layout_.inputs, head_->weight, kind());
}

at::Tensor RecurrentNetwork::outputs(const at::Tensor& x, Parts& state, int64_t first_output) {
  if (x.size(1) == 0) return at::empty({x.size(0), 0, layout_.outputs}, x.options());
  return head_->forward(run(x, state, first_output));
}

RecurrentNetwork::Parts RecurrentNetwork::first_state(int64_t B) const {
  Parts state;
  for (const at::Tensor& first : first_) {
    std::vector<int64_t> sizes = first.sizes().vec();
    sizes.insert(sizes.begin(), B);
    state.push_back(first.to(head_->weight.options()).expand(sizes));
  }
  return state;
}

void RecurrentNetwork::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  Initialiser draw(seed);
  for (const auto& module : modules(/*include_self=*/false)) {
    if (auto* linear = module->as<torch::nn::Linear>()) draw.as_torch(*linear);
    if (auto* layer = module->as<LstmLayer>()) layer->initialise(draw);
    if (auto* norm = module->as<Norm>()) norm->reset_parameters();
  }
  for (at::Tensor& first : first_) first.zero_();
}

at::Tensor StepwiseNetwork::run(const at::Tensor& x, Parts& state, int64_t first_output) {
  std::vector<at::Tensor> features;
  for (const at::Tensor& projected : project(x.transpose(0, 1).contiguous()).unbind())
    features.push_back(advance(projected, state));
  if (first_output == x.size(1)) return features.back().unsqueeze(1).narrow(1, 0, 0);
  return at::stack(at::TensorList(features).slice(first_output), 1);
}

}  // namespace tessera
