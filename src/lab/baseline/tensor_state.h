#pragma once

#include <ATen/core/grad_mode.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/memory/stored_pairs.h"
#include "tessera/model/sequence_model.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {

/// A tensor of a state, as one sequence has it.
struct StatePart {
  std::string name;
  std::vector<int64_t> sizes;  ///< one may be -1: any
  bool learned = true;  ///< of a RecurrentNetwork: whether its first value is a parameter, or 0
  at::ScalarType type = at::kFloat;  ///< in a file
};
using StateParts = std::vector<StatePart>;

/// The state of a recurrent network: named tensors whose rows (dimension 0) are sequences. Nobody
/// writes into the tensors, so copies of a state share them.
class TensorState {
 public:
  /// A state that has read nothing.
  TensorState() = default;
  explicit TensorState(NamedTensors parts) : parts_(std::move(parts)) {}
  TensorState(const StateParts& parts, const std::vector<at::Tensor>& values);
  /// The same of a block; it stores no pairs.
  explicit TensorState(const PairOptions&) {}
  PairOptions options() const { return {}; }
  /// What a file has under these names behind `prefix`. Throws DataError on other sizes.
  static TensorState from(const TensorFile& file, const StateParts& parts,
                          const std::string& prefix = "");

  int64_t rows() const { return parts_.empty() ? 0 : parts_.front().second.size(0); }
  const at::Tensor& part(size_t index) const { return parts_.at(index).second; }
  std::vector<at::Tensor> values() const;
  /// Throws UsageError where something was read, unless it has these parts for `batch` sequences.
  /// kind: of the model, for messages.
  void check(const StateParts& parts, int64_t batch, std::string_view kind) const;

  TensorState select(const std::vector<int64_t>& rows) const;
  static TensorState stack(const std::vector<const TensorState*>& states);
  NamedTensors tensors(const std::string& prefix) const;

 private:
  NamedTensors parts_;
};

/// A model, a SequenceModel or a LanguageModel, whose state is a TensorState.
template <std::derived_from<SequenceModel> Model>
class TensorStateModel : public Model {
 public:
  SequenceState empty_state() const override { return SequenceState(TensorState()); }

  SequenceOutput read(const at::Tensor& inputs, SequenceState&& state,
                      int64_t first_output = 0) override {
    at::NoGradGuard no_grad;
    const at::Tensor x = placed(inputs);
    const int64_t B = x.size(0), T = x.size(1);
    this->check_first_output(first_output, T);
    const auto& before = state.as<TensorState>();
    before.check(state_parts(), B, this->kind());
    Parts values = before.rows() > 0 ? before.values() : first_state(B);
    at::Tensor result = outputs(x, values, first_output);
    if (T == 0) return {std::move(result), std::move(state)};
    return {std::move(result), SequenceState(TensorState(state_parts(), values))};
  }

  SequenceState state_from(const TensorFile& file, const SequenceState&) const override {
    return SequenceState(TensorState::from(file, state_parts()));
  }

 protected:
  using Parts = std::vector<at::Tensor>;  ///< [B, ..] each, in the order of state_parts()

  /// The inputs, [B, T, ..], on the model's device. Throws UsageError where they do not fit.
  virtual at::Tensor placed(const at::Tensor& inputs) const = 0;
  virtual StateParts state_parts() const = 0;
  /// The state of B sequences that have read nothing.
  virtual Parts first_state(int64_t B) const = 0;
  /// What it says of the steps from first_output on, [B, T - first_output, ..]. x: placed inputs,
  /// which go on from `state`; that becomes the one after the last step.
  virtual at::Tensor outputs(const at::Tensor& x, Parts& state, int64_t first_output) = 0;
};

/// Such a model over vectors, without dropout.
class TensorStateNetwork : public TensorStateModel<SequenceModel> {
 public:
  at::Tensor forward(const at::Tensor& inputs, std::optional<uint64_t> dropout_seed = {},
                     int64_t first_output = 0) override {
    const at::Tensor x = placed(inputs);
    check_first_output(first_output, x.size(1));
    Parts state = first_state(x.size(0));
    return outputs(x, state, first_output);
  }
};

}  // namespace tessera
