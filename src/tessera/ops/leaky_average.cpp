#include "tessera/ops/leaky_average.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "tessera/ops/check_sequence.h"
#include "tessera/ops/cpu/leaky_average.h"
#include "tessera/ops/detail/dispatch.h"

namespace tessera::ops {
namespace {

/// Doubling: after the pass with reach s, y_t holds the terms of the last 2s inputs.
at::Tensor composed(const at::Tensor& x, const at::Tensor& decay, const at::Tensor& initial) {
  const int64_t T = x.size(1);
  const at::Tensor head_decay = decay.view({-1, 1});               // [H, 1]
  const at::Tensor carried = (head_decay * initial).unsqueeze(1);  // [B, 1, H, D]
  if (T == 0) return x + carried;
  at::Tensor y = at::cat({x.narrow(1, 0, 1) + carried, x.narrow(1, 1, T - 1)}, 1);
  for (int64_t reach = 1; reach < T; reach *= 2) {
    const at::Tensor earlier = y.narrow(1, 0, T - reach) * head_decay.pow(reach);
    y = at::cat({y.narrow(1, 0, reach), y.narrow(1, reach, T - reach) + earlier}, 1);
  }
  return y;
}

class FusedLeakyAverage : public torch::autograd::Function<FusedLeakyAverage> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& decay, const at::Tensor& initial) {
    const at::Tensor rows = with_contiguous_rows(x), decays = decay.contiguous();
    const at::Tensor start = initial.contiguous();
    const at::Tensor y = at::empty(x.sizes(), x.options());
    cpu::LeakyAverageForward loop;
    loop.B = x.size(0);
    loop.T = x.size(1);
    loop.H = x.size(2);
    loop.D = x.size(3);
    loop.x = sequence_of(rows);
    loop.decay = decays.data_ptr<float>();
    loop.initial = start.data_ptr<float>();
    loop.y = sequence_of(y);
    cpu::loops()->leaky_average_forward(loop);
    context->save_for_backward({y, decays, start});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grad_outputs) {
    check_differentiated_once("leaky_average");
    const auto saved = context->get_saved_variables();
    const at::Tensor &y = saved[0], &decay = saved[1], &initial = saved[2];
    const at::Tensor grad_y = with_contiguous_rows(grad_outputs[0]);
    const at::Tensor grad_x = at::empty(y.sizes(), y.options());
    const at::Tensor grad_decay = at::empty({y.size(0), y.size(2)}, y.options());
    const at::Tensor grad_initial = at::empty_like(initial);
    cpu::LeakyAverageBackward loop;
    loop.B = y.size(0);
    loop.T = y.size(1);
    loop.H = y.size(2);
    loop.D = y.size(3);
    loop.y = sequence_of(y);
    loop.grad_y = sequence_of(grad_y);
    loop.decay = decay.data_ptr<float>();
    loop.initial = initial.data_ptr<float>();
    loop.grad_x = sequence_of(grad_x);
    loop.grad_decay = grad_decay.data_ptr<float>();
    loop.grad_initial = grad_initial.data_ptr<float>();
    cpu::loops()->leaky_average_backward(loop);
    return {grad_x, grad_decay.sum(0), grad_initial};
  }
};

}  // namespace

at::Tensor leaky_average(const at::Tensor& x, const at::Tensor& decay, const at::Tensor& initial) {
  check_sequence(x, "leaky_average: x");
  check_like(decay, {x.size(2)}, x, "leaky_average: decay");
  if (initial.defined())
    check_like(initial, {x.size(0), x.size(2), x.size(3)}, x, "leaky_average: initial");
  const at::Tensor start =
      initial.defined() ? initial : at::zeros({x.size(0), x.size(2), x.size(3)}, x.options());
  if (loops_for({x, decay})) return FusedLeakyAverage::apply(x, decay, start);
  return composed(x, decay, start);
}

}  // namespace tessera::ops
