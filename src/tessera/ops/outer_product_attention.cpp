#include "tessera/ops/outer_product_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "tessera/ops/batched_product.h"
#include "tessera/ops/check_sequence.h"
#include "tessera/ops/cpu/attention_factors.h"
#include "tessera/ops/detail/dispatch.h"

namespace tessera::ops {
namespace {

cpu::AttentionFactors factors_loop(const at::Tensor& queries, const at::Tensor& keys,
                                   const at::Tensor& factors) {
  cpu::AttentionFactors loop;
  loop.B = queries.size(0);
  loop.queries = queries.size(1);
  loop.keys = keys.size(1);
  loop.D = queries.size(2);
  loop.query = queries.data_ptr<float>();
  loop.key = keys.data_ptr<float>();
  loop.factor = factors.data_ptr<float>();
  return loop;
}

class FusedAttentionFactors : public torch::autograd::Function<FusedAttentionFactors> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& queries,
                            const at::Tensor& keys) {
    const at::Tensor q = queries.contiguous(), k = keys.contiguous();
    const at::Tensor factors = at::empty({q.size(0), k.size(1), q.size(1), q.size(2)}, q.options());
    cpu::loops()->attention_factors_forward(factors_loop(q, k, factors));
    context->save_for_backward({q, k, factors});
    return factors;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grad_outputs) {
    check_differentiated_once("attention_factors");
    const auto saved = context->get_saved_variables();
    const at::Tensor &queries = saved[0], &keys = saved[1];
    const at::Tensor grad_factors = grad_outputs[0].contiguous();
    const at::Tensor grad_queries = at::empty_like(queries), grad_keys = at::empty_like(keys);
    cpu::AttentionFactorsBackward loop;
    loop.forward = factors_loop(queries, keys, saved[2]);
    loop.grad_factor = grad_factors.data_ptr<float>();
    loop.grad_query = grad_queries.data_ptr<float>();
    loop.grad_key = grad_keys.data_ptr<float>();
    cpu::loops()->attention_factors_backward(loop);
    return {grad_queries, grad_keys};
  }
};

}  // namespace

at::Tensor attention_factors(const at::Tensor& queries, const at::Tensor& keys) {
  check_vectors(queries, "attention_factors: queries");
  check_like(keys, {queries.size(0), -1, queries.size(2)}, queries, "attention_factors: keys");
  if (loops_for({queries, keys})) return FusedAttentionFactors::apply(queries, keys);
  return (queries.unsqueeze(1) * keys.unsqueeze(2)).tanh();  // [B, Nk, Nq, D]
}

at::Tensor associate(const at::Tensor& factors, const at::Tensor& values) {
  check_sequence(factors, "associate: factors");
  check_like(values, {factors.size(0), factors.size(1), -1}, factors, "associate: values");
  const at::Tensor sums =
      batched_product(factors.flatten(2).transpose(1, 2), values);  // [B, Nq D, E]
  return sums.view({factors.size(0), factors.size(2), factors.size(3), values.size(2)});
}

at::Tensor outer_product_attention(const at::Tensor& queries, const at::Tensor& keys,
                                   const at::Tensor& values) {
  return associate(attention_factors(queries, keys), values);
}

}  // namespace tessera::ops
