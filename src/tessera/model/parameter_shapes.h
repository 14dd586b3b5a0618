#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct ParameterShape {
  std::string name;
  std::vector<int64_t> shape;
};

/// The parameters of a network by the names of named_parameters(). A network on the meta device
/// tells them without allocating any.
std::vector<ParameterShape> parameter_shapes(const torch::nn::Module& network);

/// The number of parameters in these shapes.
int64_t count_parameters(const std::vector<ParameterShape>& shapes);

}  // namespace tessera
