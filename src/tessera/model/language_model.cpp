#include "tessera/model/language_model.h"

#include <ATen/ATen.h>

#include "tessera/base/error.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/linear_cross_entropy.h"
#include "tessera/tensor/check_shape.h"

namespace tessera {
namespace {

constexpr int64_t kIgnoredTarget = -1;

/// Throws c10::ValueError unless the ids, where they lie on the CPU, are in [lowest, vocabulary).
void check_ids(const at::Tensor& ids, int64_t lowest, int64_t vocabulary, std::string_view what) {
  TORCH_CHECK_VALUE(ids.scalar_type() == at::kLong, what, "s are ", ids.scalar_type(),
                    ", expected int64");
  if (ids.numel() == 0 || !ids.is_cpu()) return;
  const int64_t least = ids.min().item<int64_t>(), greatest = ids.max().item<int64_t>();
  TORCH_CHECK_VALUE(least >= lowest && greatest < vocabulary, what, " ",
                    least < lowest ? least : greatest, " is outside the model's vocabulary of ",
                    vocabulary, "; was the text encoded by another tokenizer?");
}

}  // namespace

at::Tensor LanguageModel::placed_tokens(const at::Tensor& tokens) const {
  check_shape(tokens, {-1, -1}, "tokens");
  check_ids(tokens, 0, vocabulary(), "token");
  return tokens.to(embedding().device());
}

at::Tensor LanguageModel::placed_targets(const at::Tensor& targets,
                                         const at::Tensor& tokens) const {
  check_shape(tokens, {-1, -1}, "tokens");
  check_shape(targets, {tokens.size(0), tokens.size(1)}, "LanguageModel::loss: targets");
  check_ids(targets, kIgnoredTarget, vocabulary(), "target");
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
  const at::Tensor next = placed_targets(targets, tokens);  // [B T]
  return ops::linear_cross_entropy_per_row(hidden(tokens).flatten(0, 1), embedding(), logit_scale(),
                                           next, kIgnoredTarget, precision())
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

}  // namespace tessera
