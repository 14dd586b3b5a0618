#include "tessera/ops/peek_average.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "tessera/ops/check_sequence.h"
#include "tessera/ops/cpu/peek_average.h"
#include "tessera/ops/detail/dispatch.h"

namespace tessera::ops {
namespace {

at::Tensor composed(const at::Tensor& x, const at::Tensor& mix) {
  const int64_t T = x.size(1);
  const at::Tensor head_mix = mix.view({-1, 1});  // [H, 1]
  if (T == 0) return x * head_mix;
  const at::Tensor next = at::cat(
      {x.narrow(1, 1, T - 1), at::zeros({x.size(0), 1, x.size(2), x.size(3)}, x.options())}, 1);
  return head_mix * x + (1 - head_mix) * next;
}

class FusedPeekAverage : public torch::autograd::Function<FusedPeekAverage> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& mix) {
    const at::Tensor rows = with_contiguous_rows(x), mixs = mix.contiguous();
    const at::Tensor y = at::empty(x.sizes(), x.options());
    cpu::PeekAverageForward loop;
    loop.B = x.size(0);
    loop.T = x.size(1);
    loop.H = x.size(2);
    loop.D = x.size(3);
    loop.x = sequence_of(rows);
    loop.mix = mixs.data_ptr<float>();
    loop.y = sequence_of(y);
    cpu::loops()->peek_average_forward(loop);
    context->save_for_backward({rows, mixs});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grad_outputs) {
    check_differentiated_once("peek_average");
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &mix = saved[1];
    const at::Tensor grad_y = with_contiguous_rows(grad_outputs[0]);
    const at::Tensor grad_x = at::empty(x.sizes(), x.options());
    const at::Tensor grad_mix = at::empty({x.size(0), x.size(2)}, x.options());
    cpu::PeekAverageBackward loop;
    loop.B = x.size(0);
    loop.T = x.size(1);
    loop.H = x.size(2);
    loop.D = x.size(3);
    loop.x = sequence_of(x);
    loop.mix = mix.data_ptr<float>();
    loop.grad_y = sequence_of(grad_y);
    loop.grad_x = sequence_of(grad_x);
    loop.grad_mix = grad_mix.data_ptr<float>();
    cpu::loops()->peek_average_backward(loop);
    return {grad_x, grad_mix.sum(0)};
  }
};

}  // namespace

at::Tensor peek_average(const at::Tensor& x, const at::Tensor& mix) {
  check_sequence(x, "peek_average: x");
  check_like(mix, {x.size(2)}, x, "peek_average: mix");
  if (loops_for({x, mix})) return FusedPeekAverage::apply(x, mix);
  return composed(x, mix);
}

}  // namespace tessera::ops
