#include "tessera/model/initialisation.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/random.h"
#include "tessera/ops/dropout.h"

namespace tessera {
namespace {

/// Draws on the CPU, whose generator the seed is for; a parameter elsewhere gets a copy.
template <typename Draw>
void draw_into(const at::Tensor& parameter, const Draw& draw) {
  if (parameter.is_meta()) return;
  at::NoGradGuard no_grad;
  at::Tensor drawn = parameter.is_cpu()
                         ? parameter
                         : at::empty(parameter.sizes(), parameter.options().device(at::kCPU));
  draw(drawn);
  if (!parameter.is_cpu()) at::Tensor(parameter).copy_(drawn);
}

}  // namespace

Initialiser::Initialiser(uint64_t seed)
    : generator_(at::make_generator<at::CPUGeneratorImpl>(seed)) {}

void Initialiser::normal(const at::Tensor& parameter, double deviation) {
  draw_into(parameter, [&](at::Tensor& drawn) { drawn.normal_(0.0, deviation, generator_); });
}

void Initialiser::normal(const torch::nn::Linear& linear, double deviation) {
  at::NoGradGuard no_grad;
  normal(linear->weight, deviation);
  if (linear->bias.defined()) linear->bias.zero_();
}

/// By the inverse of the distribution function; the same draws as torch.nn.init.trunc_normal_.
void Initialiser::cut_normal(const at::Tensor& parameter, double deviation) {
  constexpr double kCut = 3;  // deviations
  const double bound = std::erf(kCut / std::sqrt(2.0));
  draw_into(parameter, [&](at::Tensor& drawn) {
    drawn.uniform_(-bound, bound, generator_)
        .erfinv_()
        .mul_(deviation * std::sqrt(2.0))
        .clamp_(-kCut * deviation, kCut * deviation);
  });
}

void Initialiser::cut_normal(const torch::nn::Linear& linear, double deviation) {
  at::NoGradGuard no_grad;
  cut_normal(linear->weight, deviation);
  if (linear->bias.defined()) linear->bias.zero_();
}

void Initialiser::as_torch(const torch::nn::LinearImpl& linear) {
  const double bound = 1 / std::sqrt(linear.weight.size(1));
  uniform(linear.weight, -bound, bound);
  if (linear.bias.defined()) uniform(linear.bias, -bound, bound);
}

void Initialiser::uniform(const at::Tensor& parameter, double low, double high) {
  draw_into(parameter, [&](at::Tensor& drawn) { drawn.uniform_(low, high, generator_); });
}

std::optional<uint64_t> derived_seed(std::optional<uint64_t> seed, int64_t index) {
  if (!seed) return {};
  return RandomStream(*seed, index)();
}

at::Tensor with_dropout(const at::Tensor& x, double probability, std::optional<uint64_t> seed,
                        int64_t index) {
  return seed ? ops::activation_dropout(x, {probability, *derived_seed(seed, index)}) : x;
}

void check_sizes(std::initializer_list<std::pair<std::string_view, int64_t>> fields) {
  for (const auto& [name, value] : fields)
    if (value < 1 || value > kLargestSize)
      throw UsageError("model.{} is {}, expected 1 to {}", name, value, kLargestSize);
}

void check_heads(int64_t heads, int64_t channels, std::string_view width) {
  if (channels % heads != 0)
    throw UsageError("model.heads is {}, which does not divide model.{} = {}", heads, width,
                     channels);
}

}  // namespace tessera
