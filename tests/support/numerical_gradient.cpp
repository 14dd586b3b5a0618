#include "tests/support/numerical_gradient.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include "tessera/tensor/check.h"

namespace tessera::test {

::testing::AssertionResult gradients_agree(
    const std::function<at::Tensor(const std::vector<at::Tensor>&)>& function,
    std::vector<at::Tensor> inputs, double tolerance, double step) {
  std::vector<at::Tensor> leaves;
  for (auto& input : inputs) {
    TESSERA_CHECK(input.scalar_type() == at::kDouble || !input.requires_grad(),
                  "gradients_agree: differentiated inputs must be double");
    if (!input.requires_grad()) continue;
    if (!input.is_leaf()) input = input.detach().clone().requires_grad_(true);
    leaves.push_back(input);  // moved in place, and put back
  }
  const at::Tensor output = function(inputs);
  const at::Tensor weights =
      at::cos(at::arange(1, output.numel() + 1, output.options()).mul(1.7)).view(output.sizes());
  const auto gradients = torch::autograd::grad({(output * weights.detach()).sum()}, leaves, {},
                                               false, false, /*allow_unused=*/true);

  at::NoGradGuard no_grad;
  for (size_t k = 0; k < leaves.size(); ++k) {
    const at::Tensor flat = leaves[k].view({-1});
    for (int64_t i = 0; i < flat.numel(); ++i) {
      const double centre = flat[i].item<double>();
      flat[i].fill_(centre + step);
      const double above = (function(inputs) * weights).sum().item<double>();
      flat[i].fill_(centre - step);
      const double below = (function(inputs) * weights).sum().item<double>();
      flat[i].fill_(centre);
      const double numerical = (above - below) / (2 * step);
      const double analytic =
          gradients[k].defined() ? gradients[k].reshape({-1})[i].item<double>() : 0.0;
      if (!(std::abs(analytic - numerical) <= tolerance * std::max(1.0, std::abs(numerical))))
        return ::testing::AssertionFailure()
               << "gradient " << k << ", element " << i << ": analytic " << analytic
               << ", numerical " << numerical;
    }
  }
  return ::testing::AssertionSuccess();
}

double relative_error(const at::Tensor& actual, const at::Tensor& expected) {
  if (expected.numel() == 0) return actual.numel() == 0 ? 0.0 : INFINITY;
  const double scale = expected.abs().max().item<double>();
  return (actual - expected).abs().max().item<double>() / (scale > 0 ? scale : 1.0);
}

}  // namespace tessera::test
