#include "lab/task/moons/disentanglement.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "tessera/tensor/check.h"

namespace tessera::task {

at::Tensor moduli(const at::Tensor& weight) {
  check_shape(weight, {-1, -1, 2}, "moduli: weight");
  return weight.detach().square().sum(-1).sqrt();
}

Disentanglement disentanglement(const ComplexMosaic& model) {
  const auto parameters = model.named_parameters();
  at::Tensor of_rows[kMoons];  // W_phi, W_psi, W_z: [3, 3], a row for each memory
  Disentanglement result{.least_dominance = 1};
  for (size_t i = 0; const char* name : {"key", "value", "output"}) {
    const at::Tensor values = moduli(parameters[name]).to(at::kCPU, at::kDouble);
    check_shape(values, {kMoons, kMoons}, std::string("disentanglement: the moduli of ") + name);
    const at::Tensor dominance = values.amax(-1) / values.sum(-1);
    result.least_dominance = std::min(result.least_dominance, dominance.min().item<double>());
    of_rows[i++] = name == std::string_view("output") ? values.t() : values;
  }
  const at::Tensor keyed = of_rows[0].argmax(-1);
  std::copy_n(keyed.data_ptr<int64_t>(), kMoons, result.moons.begin());
  auto sorted = result.moons;
  std::sort(sorted.begin(), sorted.end());
  result.one_moon_each = std::unique(sorted.begin(), sorted.end()) == sorted.end() &&
                         of_rows[1].argmax(-1).equal(keyed) && of_rows[2].argmax(-1).equal(keyed);
  return result;
}

}  // namespace tessera::task
