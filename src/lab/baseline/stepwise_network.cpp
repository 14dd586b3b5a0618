#include "lab/baseline/stepwise_network.h"

#include <ATen/ATen.h>

namespace tessera {

at::Tensor StepwiseNetwork::run(const at::Tensor& x, Parts& state, int64_t first_output) {
  std::vector<at::Tensor> features;
  for (const at::Tensor& projected : project(x.transpose(0, 1).contiguous()).unbind())
    features.push_back(advance(projected, state));
  if (first_output == x.size(1)) return features.back().unsqueeze(1).narrow(1, 0, 0);
  return at::stack(at::TensorList(features).slice(first_output), 1);
}

}  // namespace tessera
