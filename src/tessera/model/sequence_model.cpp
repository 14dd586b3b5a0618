#include "tessera/model/sequence_model.h"

#include <ATen/ATen.h>

#include "tessera/tensor/check.h"

namespace tessera {

SequenceOutput SequenceModel::step(const at::Tensor& x, SequenceState&& state) {
  TESSERA_CHECK(x.defined() && x.dim() > 0, "SequenceModel::step: x has no sequences");
  SequenceOutput one = read(x.unsqueeze(1), std::move(state));
  return {one.outputs.select(1, 0), std::move(one.state)};
}

void SequenceModel::check_first_output(int64_t first_output, int64_t steps) {
  TESSERA_CHECK(first_output >= 0 && first_output <= steps, "first_output is ", first_output,
                ", expected 0 to ", steps, ", the number of steps");
}

int64_t SequenceModel::parameter_count() const {
  int64_t count = 0;
  for (const auto& parameter : parameters()) count += parameter.numel();
  return count;
}

}  // namespace tessera
