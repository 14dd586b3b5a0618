#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

#include <cmath>
#include <string>
#include <vector>

namespace tessera::test {

inline double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

/// Sets a parameter to `values`, which are its elements in order, or the one that all are.
inline void fill(const torch::nn::Module& model, const std::string& name,
                 const std::vector<double>& values) {
  at::NoGradGuard no_grad;
  at::Tensor parameter = model.named_parameters()[name];
  parameter.view({-1}).copy_(at::tensor(values));
}

}  // namespace tessera::test
