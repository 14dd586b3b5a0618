#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "lab/study/study.h"
#include "tessera/model/memo.h"

/// The studies of "MeMo: Towards Language Models with Associative Memory Mechanisms" (Zanzotto et
/// al. 2025).
namespace tessera::memo_study {

constexpr const char* kPaper = "Zanzotto et al. 2025";

/// Whole numbers below `bound`, by a seed and a stream of it: [sizes], kLong.
at::Tensor random_tokens(at::IntArrayRef sizes, int64_t bound, uint64_t seed, uint64_t stream);

/// Which of the embeddings [V, d] have the largest product with each of outputs [n, d]: [n].
at::Tensor best_tokens(const at::Tensor& outputs, const at::Tensor& embeddings);

/// Share of the outputs [n, d] whose best token is the target [n] (eq. 4).
double accuracy(const at::Tensor& outputs, const at::Tensor& embeddings, const at::Tensor& targets);

/// c_W of the noise law, measured: d Var(q . q') / l^2 over the keys q that windows of random
/// tokens are read with.
double key_variance(const Memo& memo, uint64_t seed);

Study single_layer();
Study multi_layer();
Study nearly_orthogonal();
Study natural_text();
Study forget();
Study unlearning();

}  // namespace tessera::memo_study
