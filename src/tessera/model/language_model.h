#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/memory/stored_pairs.h"
#include "tessera/ops/precision.h"

namespace tessera {

/// What a language model knows after the tokens that it has read, for B sequences side by side. A
/// value: clone() is a fork.
class LanguageModelState {
 public:
  virtual ~LanguageModelState() = default;
  virtual std::unique_ptr<LanguageModelState> clone() const = 0;
  /// The chosen sequences (one may be chosen twice).
  virtual std::unique_ptr<LanguageModelState> select(const std::vector<int64_t>& rows) const = 0;
  /// Sequences of this state and then those of the others; all of the same model, each having read
  /// at least one token.
  virtual std::unique_ptr<LanguageModelState> stack(
      const std::vector<const LanguageModelState*>& others) const = 0;
  /// Everything it is made of, for a file; LanguageModel::state_from gives it back. For a state
  /// that has read at least one token.
  virtual NamedTensors tensors() const = 0;
};

/// A network that predicts the next token. C++ has one class for each kind of network; this is what
/// training, generation and evaluation need of any of them.
class LanguageModel : public torch::nn::Module {
 public:
  /// "memory_mosaic", "gpt": the kind that config.json names.
  virtual std::string_view kind() const = 0;
  /// The hyper-parameters, as config.json holds them.
  virtual config::Json hyper_parameters() const = 0;
  virtual int64_t vocabulary() const = 0;
  virtual int64_t window() const = 0;  ///< longest sequence it was made for, in tokens
  /// Whether it can read past its window; learned positions end there.
  virtual bool reads_past_window() const = 0;

  /// tokens [B, T] int64 -> hidden [B, T, C], after the last norm. dropout_seed: one per step and
  /// micro-batch; none for no dropout. Throws c10::ValueError on ids outside the vocabulary and on
  /// T > window() where the model cannot read past it.
  virtual at::Tensor hidden(const at::Tensor& tokens,
                            std::optional<uint64_t> dropout_seed = {}) = 0;
  /// hidden [.., C] -> logits [.., V].
  at::Tensor logits(const at::Tensor& hidden);
  /// Mean cross entropy in nats per token: tokens, targets [B, T] int64; a target of -1 does not
  /// count.
  at::Tensor loss(const at::Tensor& tokens, const at::Tensor& targets,
                  std::optional<uint64_t> dropout_seed = {});
  /// The cross entropy of every position, [B, T], nats; no gradient.
  at::Tensor loss_per_position(const at::Tensor& tokens, const at::Tensor& targets);

  /// A state that has read nothing, for `batch` sequences; bound limits each contextual memory.
  virtual std::unique_ptr<LanguageModelState> empty_state(MemoryBound bound = {}) const = 0;
  /// The state of these tensors, which an equal model wrote. Throws DataError where they do not fit
  /// the model, the bound or one another.
  virtual std::unique_ptr<LanguageModelState> state_from(const TensorFile& file,
                                                         MemoryBound bound) const = 0;
  /// Goes on reading: tokens [B, T] -> hidden [B, T, C], equal to hidden() of the whole sequence;
  /// `state` moves on. No gradient, no dropout. On a throw the state is as before.
  virtual at::Tensor read(const at::Tensor& tokens, LanguageModelState& state) = 0;

  /// Draws all parameters anew: same seed, same parameters.
  virtual void initialise(uint64_t seed) = 0;

  int64_t parameter_count() const;

 protected:
  /// The tied embedding [V, C] and the factor of the logits.
  virtual const at::Tensor& embedding() const = 0;
  virtual double logit_scale() const = 0;
  virtual ops::Precision precision() const = 0;

  /// Throws c10::ValueError unless tokens is [B, T] int64 with ids in [0, V).
  void check_tokens(const at::Tensor& tokens) const;
};

}  // namespace tessera
