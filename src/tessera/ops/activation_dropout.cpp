#include "tessera/ops/activation_dropout.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "tessera/ops/cpu/activation_dropout.h"
#include "tessera/ops/detail/dispatch.h"

namespace tessera::ops {
namespace {

at::Tensor fused(const at::Tensor& x, const Dropout& dropout) {
  const at::Tensor from = x.contiguous();
  const at::Tensor y = at::empty(from.sizes(), from.options());
  cpu::ActivationDropout loop;
  loop.columns = x.size(-1);
  loop.rows = x.numel() / loop.columns;
  loop.seed = dropout.seed;
  loop.probability = dropout.probability;
  loop.x = from.data_ptr<float>();
  loop.y = y.data_ptr<float>();
  cpu::loops()->activation_dropout(loop);
  return y;
}

/// The mask is drawn again for the gradient, which it multiplies as it did x.
class FusedActivationDropout : public torch::autograd::Function<FusedActivationDropout> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const Dropout& dropout) {
    context->saved_data["probability"] = dropout.probability;
    context->saved_data["seed"] = static_cast<int64_t>(dropout.seed);
    return fused(x, dropout);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grad_outputs) {
    check_differentiated_once("activation_dropout");
    return {fused(grad_outputs[0], {context->saved_data["probability"].toDouble(),
                                    static_cast<uint64_t>(context->saved_data["seed"].toInt())}),
            {}};
  }
};

}  // namespace

at::Tensor activation_dropout(const at::Tensor& x, const Dropout& dropout) {
  check_dropout(dropout, "activation_dropout");
  if (dropout.probability == 0 || x.numel() == 0) return x;
  if (loops_for({x})) return FusedActivationDropout::apply(x, dropout);
  const int64_t columns = x.size(-1), rows = x.numel() / columns;
  return x * dropout_factors(dropout, 1, 1, 0, rows, columns, x.options()).view(x.sizes());
}

}  // namespace tessera::ops
