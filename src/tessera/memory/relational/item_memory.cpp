#include "tessera/memory/relational/item_memory.h"

#include <ATen/ATen.h>

#include "tessera/memory/make_linear.h"

namespace tessera {

ItemMemoryImpl::ItemMemoryImpl(const TwoMemoryOptions& options, at::Device device)
    : options_(options) {
  const int64_t D = options.width;
  initial = register_parameter("initial", at::zeros({D, D}, device));
  if (!options.gated) return;
  const bool of_code = options.equations.gates == ops::GateForm::kSigmoid;
  const auto gate = [&](int64_t inputs) {
    return make_linear(inputs, 2 * D, /*with_bias=*/of_code, device);
  };
  input_gate = register_module("input_gate", gate(of_code ? D : options.inputs));
  memory_gate = register_module("memory_gate", gate(D));
  input_bias = register_parameter("input_bias", at::zeros({}, device));
  forget_bias = register_parameter("forget_bias", at::ones({}, device));
}

at::Tensor ItemMemoryImpl::gate_inputs(const at::Tensor& x, const at::Tensor& content) {
  if (!options_.gated) return {};
  const bool of_code = options_.equations.gates == ops::GateForm::kSigmoid;
  const at::Tensor ones = at::ones({options_.width}, x.options());
  const at::Tensor scalars = at::cat({input_bias * ones, forget_bias * ones});
  const at::Tensor bias = of_code ? scalars + input_gate->bias + memory_gate->bias : scalars;
  return at::matmul(of_code ? content : x, input_gate->weight.t()) + bias;
}

at::Tensor ItemMemoryImpl::write(const at::Tensor& memory, const at::Tensor& left,
                                 const at::Tensor& right, const at::Tensor& gate_input) const {
  if (!options_.gated) return at::addcmul(memory, left.unsqueeze(2), right.unsqueeze(1));
  return ops::gated_write(memory, left, right, memory_gate->weight, gate_input,
                          options_.equations.gates);
}

}  // namespace tessera
