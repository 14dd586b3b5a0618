#include "tessera/model/language_model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "tessera/base/error.h"
#include "tessera/model/sequence_model.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/linear_cross_entropy.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

constexpr int64_t kIgnoredTarget = -1;

}  // namespace

at::Tensor LanguageModel::placed_tokens(const at::Tensor& tokens) const {
  check_shape(tokens, {-1, -1}, "tokens");
  check_token_ids(tokens, 0, vocabulary(), "token");
  return tokens.to(embedding().device());
}

at::Tensor LanguageModel::placed_targets(const at::Tensor& targets,
                                         const at::Tensor& tokens) const {
  check_shape(tokens, {-1, -1}, "tokens");
  check_shape(targets, {tokens.size(0), tokens.size(1)}, "LanguageModel::loss: targets");
  check_token_ids(targets, kIgnoredTarget, vocabulary(), "target");
  return targets.to(embedding().device()).flatten();
}

at::Tensor LanguageModel::forward(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed,
                                  int64_t first_output) {
  const at::Tensor all = hidden(tokens, dropout_seed);
  check_first_output(first_output, all.size(1));
  return all.slice(1, first_output);
}

at::Tensor LanguageModel::logits(const at::Tensor& hidden) {
  return ops::linear(hidden * logit_scale(), embedding(), {}, precision());
}

at::Tensor LanguageModel::loss(const at::Tensor& tokens, const at::Tensor& targets,
                               std::optional<uint64_t> dropout_seed) {
  const at::Tensor next = placed_targets(targets, tokens);  // [B T]
  return ops::linear_cross_entropy(hidden(tokens, dropout_seed).flatten(0, 1), embedding(),
                                   logit_scale(), next, kIgnoredTarget, precision());
}

at::Tensor LanguageModel::loss_per_position(const at::Tensor& tokens, const at::Tensor& targets) {
  at::NoGradGuard no_grad;
  const at::Tensor next = placed_targets(targets, tokens);  // refused before the network runs
  return losses_of(hidden(tokens), next.view(targets.sizes()));
}

at::Tensor LanguageModel::losses_of(const at::Tensor& hidden, const at::Tensor& targets) {
  at::NoGradGuard no_grad;
  check_shape(hidden, {-1, -1, -1}, "LanguageModel::losses_of: hidden");
  const at::Tensor next = placed_targets(targets, hidden.select(2, 0));  // [B T]
  return ops::linear_cross_entropy_per_row(hidden.flatten(0, 1), embedding(), logit_scale(), next,
                                           kIgnoredTarget, precision())
      .view(targets.sizes());
}

SequenceState LanguageModel::bounded_state(MemoryBound bound) const {
  if (bound.pairs != 0)
    throw UsageError(
        "a bound of {} pairs was given, but a model of kind '{}' stores no pairs; "
        "leave the bound out",
        bound.pairs, kind());
  return empty_state();
}

void LanguageModel::keep_pairs_in(ops::WeightType type) {
  if (type != ops::WeightType::kFloat32)
    throw UsageError(
        "pairs in {} were asked for, but this model of kind '{}' keeps what it has read in float32 "
        "alone",
        config::enum_name(type), kind());
}

}  // namespace tessera
