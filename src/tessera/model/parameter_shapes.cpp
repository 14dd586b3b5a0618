#include "tessera/model/parameter_shapes.h"

#include <functional>
#include <numeric>

namespace tessera {

std::vector<ParameterShape> parameter_shapes(const torch::nn::Module& network) {
  std::vector<ParameterShape> shapes;
  for (const auto& parameter : network.named_parameters())
    shapes.push_back({parameter.key(), parameter.value().sizes().vec()});
  return shapes;
}

int64_t count_parameters(const std::vector<ParameterShape>& shapes) {
  int64_t count = 0;
  for (const auto& [name, shape] : shapes)
    count += std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  return count;
}

}  // namespace tessera
