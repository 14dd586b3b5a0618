// torch.ops.tessera: the pure functions of tessera/ops. Each is differentiable where its C++ header
// says so.

#include <torch/library.h>

#include <string>

#include "tessera/base/config.h"
#include "tessera/ops/causal_read.h"
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

}  // namespace

TORCH_LIBRARY(tessera, library) {
  library.def("kernel_smoothing(Tensor keys, Tensor values, *, str precision='fp32') -> Tensor",
              kernel_smoothing);
  library.def(
      "causal_attention(Tensor queries, Tensor keys, Tensor values, float scale, *, "
      "Tensor? alibi_slopes=None, str precision='fp32') -> Tensor",
      causal_attention);
  library.def("leaky_average(Tensor x, Tensor decay, Tensor? initial=None) -> Tensor",
              leaky_average);
  library.def("peek_average(Tensor x, Tensor mix) -> Tensor", ops::peek_average);
  library.def("scaled_unit_norm(Tensor x, Tensor scale, float epsilon) -> Tensor",
              ops::scaled_unit_norm);
  library.def(
      "slot_read(Tensor queries, Tensor slot_keys, Tensor slot_values, *, str precision='fp32') -> "
      "Tensor",
      slot_read);
  library.def("outer_product_attention(Tensor queries, Tensor keys, Tensor values) -> Tensor",
              ops::outer_product_attention);
  library.def(
      "linear_cross_entropy(Tensor hidden, Tensor embedding, float logit_scale, Tensor targets, *, "
      "int ignore_index=-100, str precision='fp32') -> Tensor",
      linear_cross_entropy);
}

}  // namespace tessera::python
