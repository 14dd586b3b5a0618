#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

#include <cstdint>

namespace tessera::test {

/// Moves every parameter away from its symmetric first value, by the same numbers each time.
inline void shake(torch::nn::Module& module, double deviation = 0.1, uint64_t seed = 5) {
  at::NoGradGuard no_grad;
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  for (auto& parameter : module.parameters())
    parameter.add_(at::empty_like(parameter).normal_(0, deviation, generator));
}

}  // namespace tessera::test
