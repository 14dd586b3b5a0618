#include "tessera/model/language_model.h"

#include <ATen/ATen.h>

#include "tessera/ops/linear.h"
#include "tessera/ops/linear_cross_entropy.h"
#include "tessera/tensor/check_shape.h"

namespace tessera {
namespace {

constexpr int64_t kIgnoredTarget = -1;

}  // namespace

at::Tensor LanguageModel::logits(const at::Tensor& hidden) {
  return ops::linear(hidden * logit_scale(), embedding(), {}, precision());
}

at::Tensor LanguageModel::loss(const at::Tensor& tokens, const at::Tensor& targets,
                               std::optional<uint64_t> dropout_seed) {
  check_tokens(tokens);
  check_shape(targets, {tokens.size(0), tokens.size(1)}, "LanguageModel::loss: targets");
  return ops::linear_cross_entropy(hidden(tokens, dropout_seed).flatten(0, 1), embedding(),
                                   logit_scale(), targets.flatten(), kIgnoredTarget, precision());
}

at::Tensor LanguageModel::loss_per_position(const at::Tensor& tokens, const at::Tensor& targets) {
  at::NoGradGuard no_grad;
  check_tokens(tokens);
  check_shape(targets, {tokens.size(0), tokens.size(1)}, "LanguageModel::loss: targets");
  return ops::linear_cross_entropy_per_row(hidden(tokens).flatten(0, 1), embedding(), logit_scale(),
                                           targets.flatten(), kIgnoredTarget, precision())
      .view(targets.sizes());
}

int64_t LanguageModel::parameter_count() const {
  int64_t count = 0;
  for (const auto& parameter : parameters()) count += parameter.numel();
  return count;
}

void LanguageModel::check_tokens(const at::Tensor& tokens) const {
  check_shape(tokens, {-1, -1}, "tokens");
  TORCH_CHECK_VALUE(tokens.scalar_type() == at::kLong, "tokens are ", tokens.scalar_type(),
                    ", expected int64");
  if (tokens.numel() == 0) return;
  const int64_t lowest = tokens.min().item<int64_t>(), highest = tokens.max().item<int64_t>();
  TORCH_CHECK_VALUE(lowest >= 0 && highest < vocabulary(), "token ", lowest < 0 ? lowest : highest,
                    " is outside the model's vocabulary of ", vocabulary(),
                    "; was the text encoded by another tokenizer?");
}

}  // namespace tessera
