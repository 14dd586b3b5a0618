#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tessera/memory/stored_pairs.h"
#include "tessera/model/sequence_model.h"
#include "tessera/ops/number_formats.h"

namespace tessera {

/// A sequence model that predicts the next token. Its inputs are token ids [B, T] int64; its
/// outputs are hidden states [B, T, C], which logits() and the losses turn into predictions by an
/// embedding that input and output share.
///
/// Ids are checked on the CPU and then copied to the model's device. Ids that already lie on
/// another device are not checked: the host would have to wait for the device in every call.
class LanguageModel : public SequenceModel {
 public:
  virtual int64_t vocabulary() const = 0;  ///< V, the tokens that it knows
  virtual int64_t window() const = 0;      ///< tokens of a training window
  /// Whether it can read past its window; learned positions end there.
  virtual bool reads_past_window() const { return true; }

  /// tokens [B, T] int64 -> hidden [B, T, C], after the last norm. dropout_seed as in forward().
  /// Throws UsageError on ids outside the vocabulary and on T > window() where the model
  /// cannot read past it.
  virtual at::Tensor hidden(const at::Tensor& tokens,
                            std::optional<uint64_t> dropout_seed = {}) = 0;
  at::Tensor forward(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed = {},
                     int64_t first_output = 0) final;
  /// hidden [.., C] -> logits [.., V].
  at::Tensor logits(const at::Tensor& hidden);
  /// Mean cross entropy in nats per token: tokens, targets [B, T] int64; a target of -1 does not
  /// count. Throws what hidden() throws, and UsageError on other targets outside the
  /// vocabulary.
  at::Tensor loss(const at::Tensor& tokens, const at::Tensor& targets,
                  std::optional<uint64_t> dropout_seed = {});
  /// The cross entropy of every position, [B, T], nats; no gradient. Throws as loss() does.
  at::Tensor loss_per_position(const at::Tensor& tokens, const at::Tensor& targets);
  /// The same from the hidden states of the tokens, [B, T, C].
  at::Tensor losses_of(const at::Tensor& hidden, const at::Tensor& targets);

  /// As empty_state(), where each memory of stored pairs keeps at most as many as the bound allows.
  /// Throws UsageError on a bound where the model stores no pairs.
  virtual SequenceState bounded_state(MemoryBound bound) const;
  /// Says in which numbers the memories of states that begin from now on keep their pairs; in
  /// float32 before. Throws UsageError where the model cannot keep them in such numbers.
  virtual void keep_pairs_in(ops::WeightType type);

 protected:
  /// The tied embedding [V, C] and the factor of the logits.
  virtual const at::Tensor& embedding() const = 0;
  virtual double logit_scale() const { return 1.0; }
  virtual ops::Precision precision() const { return ops::Precision::kFloat32; }

  /// The tokens on the model's device. Throws UsageError unless they are [B, T] int64 with ids
  /// in [0, V).
  at::Tensor placed_tokens(const at::Tensor& tokens) const;

 private:
  /// The targets of these tokens in one row [B T], on the model's device. Throws UsageError
  /// unless they are of the tokens' shape, -1 or in [0, V).
  at::Tensor placed_targets(const at::Tensor& targets, const at::Tensor& tokens) const;
};

}  // namespace tessera
