#include "lab/baseline/tensor_state.h"

#include <ATen/ATen.h>

#include "tessera/tensor/check.h"

namespace tessera {

TensorState TensorState::select(const std::vector<int64_t>& rows) const {
  TensorState chosen;
  for (const auto& [name, values] : parts_)
    chosen.parts_.emplace_back(
        name, values.index_select(0, at::tensor(rows, at::kLong).to(values.device())));
  return chosen;
}

TensorState TensorState::stack(const std::vector<const TensorState*>& states) {
  TensorState all;
  for (size_t i = 0; i < states.front()->parts_.size(); ++i) {
    std::vector<at::Tensor> values;
    for (const auto* state : states) {
      const at::Tensor& first = states.front()->part(i);
      TESSERA_CHECK(state->part(i).sizes().slice(1) == first.sizes().slice(1),
                    "TensorState::stack: ", state->parts_[i].first, " has shapes ", first.sizes(),
                    " and ", state->part(i).sizes(),
                    "; only states of equal models that read equally many steps can be "
                    "stacked");
      values.push_back(state->part(i));
    }
    all.parts_.emplace_back(states.front()->parts_[i].first, at::cat(values));
  }
  return all;
}

NamedTensors TensorState::tensors(const std::string& prefix) const {
  NamedTensors result;
  for (const auto& [name, values] : parts_) result.emplace_back(prefix + name, values);
  return result;
}

}  // namespace tessera
