#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/model/sequence_state.h"

namespace tessera {

/// What a model says about some steps, and what it then knows.
struct SequenceOutput {
  at::Tensor outputs;  ///< [B, steps, out]
  SequenceState state;
};

/// A network that reads sequences step by step: every model of this library is one. Its inputs are
/// vectors [B, T, in], or token ids [B, T] (int64), as the model says; its outputs are vectors.
///
/// State is a value: read() takes the old state and returns the new one. To go on with a sequence,
/// move the state in (no copy is made); to fork it, pass a copy.
///
///     SequenceState state = model.empty_state();
///     auto [outputs, next] = model.read(inputs, std::move(state));
///     auto [other, fork] = model.read(more, SequenceState(next));  // `next` can still be read on
class SequenceModel : public torch::nn::Module {
 public:
  /// The kind that config.json names: "memory_mosaic", "gpt".
  virtual std::string_view kind() const = 0;
  /// The hyper-parameters, as config.json holds them.
  virtual config::Json hyper_parameters() const = 0;

  /// Whole sequences from the start, with gradients: the outputs [B, T - first_output, out] of the
  /// steps from first_output on. (A model that computes outputs apart from its state saves the
  /// others.) dropout_seed: one per step of training and micro-batch; none for no dropout. Throws
  /// UsageError on inputs that do not fit the model.
  virtual at::Tensor forward(const at::Tensor& inputs, std::optional<uint64_t> dropout_seed = {},
                             int64_t first_output = 0) = 0;

  /// The state of sequences that have read nothing, however many they will be.
  virtual SequenceState empty_state() const = 0;
  /// The next T steps of every sequence, T >= 0, without gradients and dropout. Whether a sequence
  /// is read at once or in pieces makes no difference but the order of sums in floating point.
  /// Throws UsageError where the inputs do not fit the model or the state; the state is then
  /// as it was.
  virtual SequenceOutput read(const at::Tensor& inputs, SequenceState&& state,
                              int64_t first_output = 0) = 0;
  /// One step: x [B, in] or token ids [B] -> outputs [B, out].
  SequenceOutput step(const at::Tensor& x, SequenceState&& state);
  /// The state that an equal model wrote as SequenceState::tensors(). empty: a state of this model
  /// that has read nothing; its bounds are kept. Throws DataError where the tensors do not fit the
  /// model, the bounds or one another.
  virtual SequenceState state_from(const TensorFile& file, const SequenceState& empty) const = 0;

  /// The names of the parameters that may be kept in fewer bits (ops/weights.h) in a model that is
  /// only read: the matrices that its ops multiply with. None where they know floats only.
  virtual std::vector<std::string> weight_matrices() const { return {}; }

  /// Draws all parameters again: same seed, same parameters.
  virtual void initialise(uint64_t seed) = 0;
  int64_t parameter_count() const;

 protected:
  /// Throws UsageError unless 0 <= first_output <= steps.
  static void check_first_output(int64_t first_output, int64_t steps);
};

}  // namespace tessera
