#include "tessera/ops/scaled_unit_norm.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "tessera/ops/check_sequence.h"
#include "tessera/ops/cpu/scaled_unit_norm.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

at::Tensor composed(const at::Tensor& x, const at::Tensor& scale, double epsilon) {
  const at::Tensor length = x.norm(2, {-1}, /*keepdim=*/true);  // [.., H, 1]
  return x * (scale.view({-1, 1}) / (length + epsilon));
}

class FusedScaledUnitNorm : public torch::autograd::Function<FusedScaledUnitNorm> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& scale, double epsilon) {
    const at::Tensor rows = with_contiguous_rows(x), scales = scale.contiguous();
    const at::Tensor y = at::empty(x.sizes(), x.options());
    cpu::ScaledUnitNormForward loop;
    loop.B = x.size(0);
    loop.T = x.size(1);
    loop.H = x.size(2);
    loop.D = x.size(3);
    loop.x = sequence_of(rows);
    loop.scale = scales.data_ptr<float>();
    loop.epsilon = static_cast<float>(epsilon);
    loop.y = sequence_of(y);
    cpu::loops()->scaled_unit_norm_forward(loop);
    context->save_for_backward({rows, scales});
    context->saved_data["epsilon"] = epsilon;
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grad_outputs) {
    check_differentiated_once("scaled_unit_norm");
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1];
    const at::Tensor grad_y = with_contiguous_rows(grad_outputs[0]);
    const at::Tensor grad_x = at::empty(x.sizes(), x.options());
    const at::Tensor grad_scale = at::empty({x.size(0), x.size(2)}, x.options());
    cpu::ScaledUnitNormBackward loop;
    loop.B = x.size(0);
    loop.T = x.size(1);
    loop.H = x.size(2);
    loop.D = x.size(3);
    loop.x = sequence_of(x);
    loop.scale = scale.data_ptr<float>();
    loop.epsilon = static_cast<float>(context->saved_data["epsilon"].toDouble());
    loop.grad_y = sequence_of(grad_y);
    loop.grad_x = sequence_of(grad_x);
    loop.grad_scale = grad_scale.data_ptr<float>();
    cpu::loops()->scaled_unit_norm_backward(loop);
    return {grad_x, grad_scale.sum(0), {}};
  }
};

}  // namespace

at::Tensor scaled_unit_norm(const at::Tensor& x, const at::Tensor& scale, double epsilon) {
  TESSERA_CHECK(x.defined() && x.dim() >= 2 && x.is_floating_point(),
                "scaled_unit_norm: x must be a floating-point tensor [.., H, D]");
  check_like(scale, {x.size(-2)}, x, "scaled_unit_norm: scale");
  TESSERA_CHECK(epsilon >= 0, "scaled_unit_norm: epsilon is ", epsilon, ", expected >= 0");
  if (!loops_for({x, scale})) return composed(x, scale, epsilon);
  if (x.dim() == 4) return FusedScaledUnitNorm::apply(x, scale, epsilon);
  const at::Tensor rows = x.reshape({1, -1, x.size(-2), x.size(-1)});
  return FusedScaledUnitNorm::apply(rows, scale, epsilon).view(x.sizes());
}

}  // namespace tessera::ops
