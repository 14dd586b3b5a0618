#include "tessera/model/sequence_model.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "tessera/memory/rows_of_states.h"
#include "tessera/tensor/check.h"

namespace tessera {

SequenceState::SequenceState(const SequenceState& other)
    : held_(other.held_ ? other.held_->copy() : nullptr) {}

SequenceState& SequenceState::operator=(const SequenceState& other) {
  return *this = SequenceState(other);
}

const SequenceState::Held& SequenceState::begun(const char* function) const {
  TESSERA_CHECK(rows() > 0, "SequenceState::", function, ": the state has read nothing");
  return *held_;
}

SequenceState SequenceState::select(const std::vector<int64_t>& rows) const {
  const Held& held = begun("select");
  check_rows(rows, held.rows(), "SequenceState::select");
  return held.select(rows);
}

SequenceState SequenceState::stack(const std::vector<const SequenceState*>& parts) {
  TESSERA_CHECK(!parts.empty(), "SequenceState::stack: nothing to stack");
  for (const auto* part : parts) part->begun("stack");
  return parts.front()->held_->stack(parts);
}

std::shared_ptr<torch::nn::Module> NotCloneable::clone(const OptionalDevice&) const {
  throw UsageError(
      "clone: a {} is not cloned; make another of its configuration and copy the parameters, or "
      "save_model() and load_model()",
      name());
}

void NotCloneable::clone_(torch::nn::Module&, const OptionalDevice& device) {
  clone(device);
}

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

at::Tensor placed_vectors(const at::Tensor& x, int64_t inputs, const at::Tensor& parameter,
                          std::string_view model) {
  check_shape(x, {-1, -1, inputs}, fmt::format("{}: x", model));
  TESSERA_CHECK(x.scalar_type() == parameter.scalar_type(), model, ": x has type ", x.scalar_type(),
                ", expected ", parameter.scalar_type());
  return x.to(parameter.device());
}

void check_token_ids(const at::Tensor& ids, int64_t lowest, int64_t vocabulary,
                     std::string_view what) {
  TESSERA_CHECK(ids.scalar_type() == at::kLong, what, "s are ", ids.scalar_type(),
                ", expected int64");
  if (ids.numel() == 0 || !ids.is_cpu()) return;
  const int64_t least = ids.min().item<int64_t>(), greatest = ids.max().item<int64_t>();
  TESSERA_CHECK(least >= lowest && greatest < vocabulary, what, " ",
                least < lowest ? least : greatest, " is outside the model's vocabulary of ",
                vocabulary, "; was the text encoded by another tokenizer?");
}

}  // namespace tessera
