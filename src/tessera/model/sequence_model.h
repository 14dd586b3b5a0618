#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <torch/nn/module.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/tensor/check.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {

/// What a model may keep as its state: a value whose rows are sequences, which can be chosen, put
/// below one another and written to a file under names that start with a prefix.
template <typename T>
concept RowsOfSequences = std::copyable<T> &&
    requires(const T& content, const std::vector<int64_t>& rows, const std::vector<const T*>& parts,
             const std::string& prefix) {
  { content.rows() } -> std::same_as<int64_t>;
  { content.select(rows) } -> std::same_as<T>;
  { T::stack(parts) } -> std::same_as<T>;
  { content.tensors(prefix) } -> std::same_as<NamedTensors>;
};

/// What a model knows of the B sequences that it has read side by side. A value: a copy is a fork,
/// and reading on from one leaves the other as it was. A state that is moved into
/// SequenceModel::read() costs no copy. It holds the content of one kind of model, and only a model
/// of that kind can use it.
class SequenceState {
 public:
  template <RowsOfSequences Content>
  explicit SequenceState(Content content)
      : held_(std::make_unique<HeldAs<Content>>(std::move(content))) {}
  SequenceState(const SequenceState& other);
  SequenceState& operator=(const SequenceState& other);
  SequenceState(SequenceState&&) = default;
  SequenceState& operator=(SequenceState&&) = default;

  /// Sequences; 0 before the first step.
  int64_t rows() const { return held_ ? held_->rows() : 0; }
  /// The chosen sequences, in this order; one may be chosen twice. Throws UsageError before
  /// the first step and on a row that does not exist.
  SequenceState select(const std::vector<int64_t>& rows) const;
  /// The sequences of all parts, one part after another. Throws UsageError where there is no
  /// part, or one of another kind of model or before its first step.
  static SequenceState stack(const std::vector<const SequenceState*>& parts);
  /// Everything it is made of, for a file; SequenceModel::state_from restores it. Throws
  /// UsageError before the first step.
  NamedTensors tensors() const { return begun("tensors").tensors(); }

  /// The content. Throws UsageError where it is that of another kind of model, or was moved
  /// into a read().
  template <RowsOfSequences Content>
  const Content& as() const {
    const auto* held = dynamic_cast<const HeldAs<Content>*>(held_.get());
    TESSERA_CHECK(held,
                  "SequenceState: this state belongs to another kind of model, or was "
                  "moved into a read()");
    return held->content;
  }
  template <RowsOfSequences Content>
  Content& as() {
    return const_cast<Content&>(std::as_const(*this).as<Content>());
  }

 private:
  struct Held {
    virtual ~Held() = default;
    virtual std::unique_ptr<Held> copy() const = 0;
    virtual int64_t rows() const = 0;
    virtual SequenceState select(const std::vector<int64_t>& rows) const = 0;
    virtual SequenceState stack(const std::vector<const SequenceState*>& parts) const = 0;
    virtual NamedTensors tensors() const = 0;
  };

  template <typename Content>
  struct HeldAs : Held {
    explicit HeldAs(Content value) : content(std::move(value)) {}
    std::unique_ptr<Held> copy() const override { return std::make_unique<HeldAs>(content); }
    int64_t rows() const override { return content.rows(); }
    SequenceState select(const std::vector<int64_t>& rows) const override {
      return SequenceState(content.select(rows));
    }
    SequenceState stack(const std::vector<const SequenceState*>& parts) const override {
      std::vector<const Content*> contents;
      for (const auto* part : parts) contents.push_back(&part->as<Content>());
      return SequenceState(Content::stack(contents));
    }
    NamedTensors tensors() const override { return content.tensors(""); }
    Content content;
  };

  /// The content after at least one step.
  const Held& begun(const char* function) const;

  std::unique_ptr<Held> held_;  // none once it was moved from
};

/// A module that is made from a configuration. clone() throws UsageError, also that of a module
/// which holds it: torch::nn::Module's would leave the copy with first parameters, unsaid.
class NotCloneable : public torch::nn::Module {
  using OptionalDevice = decltype(at::TensorOptions().device_opt());  // LibTorch's, or std's

 public:
  std::shared_ptr<torch::nn::Module> clone(const OptionalDevice& device = {}) const override;

 private:
  void clone_(torch::nn::Module& other, const OptionalDevice& device) final;
};

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
class SequenceModel : public NotCloneable {
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
  /// Numbers in all parameters.
  int64_t parameter_count() const;

 protected:
  /// Throws UsageError unless 0 <= first_output <= steps.
  static void check_first_output(int64_t first_output, int64_t steps);
};

/// x [B, T, inputs] on the device of a model's parameter. Throws UsageError unless x has these
/// sizes and the parameter's dtype. model: its name, for messages.
at::Tensor placed_vectors(const at::Tensor& x, int64_t inputs, const at::Tensor& parameter,
                          std::string_view model);

/// Throws UsageError unless these are whole numbers (int64) and, where they lie on the CPU,
/// in [lowest, vocabulary). what: "token", "target".
void check_token_ids(const at::Tensor& ids, int64_t lowest, int64_t vocabulary,
                     std::string_view what);

}  // namespace tessera
