#include "lab/baseline/tensor_state.h"

#include <ATen/ATen.h>

#include "tessera/memory/rows_of_states.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

/// The sizes of a part for `batch` sequences; -1: any.
std::vector<int64_t> sizes_of(const StatePart& part, int64_t batch) {
  std::vector<int64_t> sizes = part.sizes;
  sizes.insert(sizes.begin(), batch);
  return sizes;
}

}  // namespace

TensorState::TensorState(const StateParts& parts, const std::vector<at::Tensor>& values) {
  for (size_t k = 0; k < parts.size(); ++k) parts_.emplace_back(parts[k].name, values[k]);
}

TensorState TensorState::from(const TensorFile& file, const StateParts& parts,
                              const std::string& prefix) {
  TensorState state;
  for (const StatePart& part : parts) {
    const int64_t batch = state.parts_.empty() ? -1 : state.rows();
    state.parts_.emplace_back(part.name,
                              file.at(prefix + part.name, sizes_of(part, batch), part.type));
  }
  return state;
}

void TensorState::check(const StateParts& parts, int64_t batch, std::string_view kind) const {
  if (rows() == 0) return;
  for (size_t k = 0; k < parts.size(); ++k) {
    TESSERA_CHECK(parts_.size() == parts.size() && parts_[k].first == parts[k].name,
                  "the state is that of another kind of model, expected one of ", kind);
    TESSERA_CHECK(sizes_fit(part(k).sizes(), sizes_of(parts[k], batch)), kind, ": the state's ",
                  parts[k].name, " has shape ", part(k).sizes(), ", expected ", batch,
                  " sequences of ", at::IntArrayRef(parts[k].sizes));
  }
}

std::vector<at::Tensor> TensorState::values() const {
  std::vector<at::Tensor> values;
  for (const auto& [name, value] : parts_) values.push_back(value);
  return values;
}

TensorState TensorState::select(const std::vector<int64_t>& rows) const {
  TensorState chosen;
  for (const auto& [name, values] : parts_)
    chosen.parts_.emplace_back(name, chosen_rows(values, rows));
  return chosen;
}

TensorState TensorState::stack(const std::vector<const TensorState*>& states) {
  const NamedTensors& first = states.front()->parts_;
  TensorState all;
  for (size_t i = 0; i < first.size(); ++i) {
    const auto& [name, of_first] = first[i];
    std::vector<at::Tensor> values;
    for (const auto* state : states) {
      TESSERA_CHECK(state->parts_.size() == first.size() && state->parts_[i].first == name,
                    "TensorState::stack: the states are those of different kinds of model");
      TESSERA_CHECK(state->part(i).sizes().slice(1) == of_first.sizes().slice(1),
                    "TensorState::stack: ", name, " has shapes ", of_first.sizes(), " and ",
                    state->part(i).sizes(),
                    "; only states of equal models that read equally many steps can be stacked");
      values.push_back(state->part(i));
    }
    all.parts_.emplace_back(name, at::cat(values));
  }
  return all;
}

NamedTensors TensorState::tensors(const std::string& prefix) const {
  NamedTensors result;
  for (const auto& [name, values] : parts_) result.emplace_back(prefix + name, values);
  return result;
}

}  // namespace tessera
