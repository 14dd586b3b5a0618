#include "tessera/ops/gated_write.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "tessera/ops/cpu/two_memory.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

at::Tensor composed(const at::Tensor& memory, const at::Tensor& left, const at::Tensor& right,
                    const at::Tensor& gate_weight, const at::Tensor& gate_input, GateForm form) {
  at::Tensor gates = at::matmul(memory.tanh(), gate_weight.t()) + gate_input.unsqueeze(1);
  at::Tensor candidate = left.unsqueeze(2) * right.unsqueeze(1);  // [B, D, D]
  if (form == GateForm::kSigmoid) {
    gates = gates.sigmoid();
    candidate = candidate.tanh();
  }
  const auto parts = gates.chunk(2, -1);  // input, forget: [B, D, D] each
  return parts[1] * memory + parts[0] * candidate;
}

class FusedGatedWrite : public torch::autograd::Function<FusedGatedWrite> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& memory,
                            const at::Tensor& left, const at::Tensor& right,
                            const at::Tensor& gate_weight, const at::Tensor& gate_input) {
    const at::Tensor m = memory.contiguous(), l = left.contiguous(), r = right.contiguous();
    const at::Tensor g = gate_input.contiguous();
    const at::Tensor squashed = at::empty_like(m);
    cpu::tanh({m.numel(), floats_of(m), squashed.data_ptr<float>()});
    const at::Tensor gates = at::mm(squashed.flatten(0, 1), gate_weight.t());  // [B D, 2D]
    const at::Tensor written = at::empty_like(m);
    cpu::GatedWrite loop = loop_of(m, l, r, gates);
    loop.gate_input = g.data_ptr<float>();
    loop.written = written.data_ptr<float>();
    cpu::gated_write(loop);
    context->save_for_backward({m, l, r, gate_weight, squashed, gates});
    return written;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grad_outputs) {
    check_differentiated_once("gated_write");
    const auto saved = context->get_saved_variables();
    const at::Tensor &m = saved[0], &l = saved[1], &r = saved[2];
    const at::Tensor &gate_weight = saved[3], &squashed = saved[4], &gates = saved[5];
    const at::Tensor grad_written = grad_outputs[0].contiguous();
    const at::Tensor grad_gates = at::empty_like(gates), grad_memory = at::empty_like(m);
    const at::Tensor grad_left = at::empty_like(l), grad_right = at::empty_like(r);
    const at::Tensor grad_input = at::empty({l.size(0), 2 * l.size(1)}, l.options());
    cpu::gated_write_gradient({.forward = loop_of(m, l, r, gates),
                               .grad_written = floats_of(grad_written),
                               .grad_gates = grad_gates.data_ptr<float>(),
                               .grad_memory = grad_memory.data_ptr<float>(),
                               .grad_left = grad_left.data_ptr<float>(),
                               .grad_right = grad_right.data_ptr<float>(),
                               .grad_gate_input = grad_input.data_ptr<float>()});
    const at::Tensor grad_squashed = at::mm(grad_gates, gate_weight);  // [B D, D]
    cpu::add_tanh_gradient(
        {m.numel(), floats_of(squashed), floats_of(grad_squashed), grad_memory.data_ptr<float>()});
    return {grad_memory, grad_left, grad_right, at::mm(grad_gates.t(), squashed.flatten(0, 1)),
            grad_input};
  }

 private:
  static cpu::GatedWrite loop_of(const at::Tensor& m, const at::Tensor& l, const at::Tensor& r,
                                 const at::Tensor& gates) {
    return {.B = m.size(0),
            .D = m.size(1),
            .memory = floats_of(m),
            .left = floats_of(l),
            .right = floats_of(r),
            .gates = gates.data_ptr<float>()};
  }
};

}  // namespace

at::Tensor gated_write(const at::Tensor& memory, const at::Tensor& left, const at::Tensor& right,
                       const at::Tensor& gate_weight, const at::Tensor& gate_input, GateForm form) {
  check_vectors(memory, "gated_write: memory");
  const int64_t B = memory.size(0), D = memory.size(2);
  check_like(memory, {B, D, D}, memory, "gated_write: memory");
  check_like(left, {B, D}, memory, "gated_write: left");
  check_like(right, {B, D}, memory, "gated_write: right");
  check_like(gate_weight, {2 * D, D}, memory, "gated_write: gate_weight");
  check_like(gate_input, {B, 2 * D}, memory, "gated_write: gate_input");
  if (form == GateForm::kSigmoid && loops_run({memory}))
    return FusedGatedWrite::apply(memory, left, right, gate_weight, gate_input);
  return composed(memory, left, right, gate_weight, gate_input, form);
}

}  // namespace tessera::ops
