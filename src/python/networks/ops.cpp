// torch.ops.tessera: the pure functions of tessera/ops. Each is differentiable where its C++ header
// says so.

#include <torch/library.h>

#include <string>

#include "python/networks/traced_op.h"
#include "tessera/base/config.h"
#include "tessera/ops/key_value_extraction.h"
#include "tessera/ops/linear_cross_entropy.h"
#include "tessera/ops/memory_read.h"
#include "tessera/ops/self_attentive_memory.h"

namespace tessera::python {
namespace {

using at::Tensor;
using ops::Precision;

Precision precision_of(const std::string& name) {
  return config::enum_value<Precision>(name, "precision");
}

Tensor kernel_smoothing(const Tensor& keys, const Tensor& values, const std::string& precision) {
  return ops::kernel_smoothing(keys, values, {}, precision_of(precision));
}

Tensor causal_attention(const Tensor& queries, const Tensor& keys, const Tensor& values,
                        double scale, const c10::optional<Tensor>& alibi_slopes,
                        const std::string& precision) {
  return ops::causal_attention(queries, keys, values, scale, alibi_slopes.value_or(Tensor()), {},
                               precision_of(precision));
}

Tensor leaky_average(const Tensor& x, const Tensor& decay, const c10::optional<Tensor>& initial) {
  return ops::leaky_average(x, decay, initial.value_or(Tensor()));
}

Tensor slot_read(const Tensor& queries, const Tensor& slot_keys, const Tensor& slot_values,
                 const std::string& precision) {
  return ops::slot_read(queries, slot_keys, slot_values, {}, precision_of(precision));
}

Tensor linear_cross_entropy(const Tensor& hidden, const Tensor& embedding, double logit_scale,
                            const Tensor& targets, int64_t ignore_index,
                            const std::string& precision) {
  return ops::linear_cross_entropy(hidden, embedding, logit_scale, targets, ignore_index,
                                   precision_of(precision));
}

Tensor gated_write(const Tensor& memory, const Tensor& left, const Tensor& right,
                   const Tensor& gate_weight, const Tensor& gate_input, const std::string& form) {
  return ops::gated_write(memory, left, right, gate_weight, gate_input,
                          config::enum_value<ops::GateForm>(form, "form"));
}

}  // namespace

TORCH_LIBRARY(tessera, library) {
  define_op(library,
            "kernel_smoothing(Tensor keys, Tensor values, *, str precision='fp32') -> Tensor",
            kernel_smoothing);
  define_op(library,
            "causal_attention(Tensor queries, Tensor keys, Tensor values, float scale, *, "
            "Tensor? alibi_slopes=None, str precision='fp32') -> Tensor",
            causal_attention);
  define_op(library, "leaky_average(Tensor x, Tensor decay, Tensor? initial=None) -> Tensor",
            leaky_average);
  define_op(library, "peek_average(Tensor x, Tensor mix) -> Tensor", ops::peek_average);
  define_op(library, "scaled_unit_norm(Tensor x, Tensor scale, float epsilon) -> Tensor",
            ops::scaled_unit_norm);
  define_op(
      library,
      "slot_read(Tensor queries, Tensor slot_keys, Tensor slot_values, *, str precision='fp32') -> "
      "Tensor",
      slot_read);
  define_op(library,
            "outer_product_attention(Tensor queries, Tensor keys, Tensor values) -> Tensor",
            ops::outer_product_attention);
  define_op(
      library,
      "linear_cross_entropy(Tensor hidden, Tensor embedding, float logit_scale, Tensor targets, *, "
      "int ignore_index=-100, str precision='fp32') -> Tensor",
      linear_cross_entropy);
  define_op(library,
            "gated_write(Tensor memory, Tensor left, Tensor right, Tensor gate_weight, "
            "Tensor gate_input, *, str form='sigmoid') -> Tensor",
            gated_write);
}

}  // namespace tessera::python
