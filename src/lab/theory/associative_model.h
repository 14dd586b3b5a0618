#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/plan/association_task.h"

namespace tessera::theory {

/// Model (2) of Cabannes et al. 2024 as something to be trained: logits u_y^T W e_x, with layer
/// norm u_y^T W e_x / |W e_x| (21). T is float, or double where gradients are checked.
template <typename T>
struct AssociativeModel {
  int64_t dimension = 0;   // d
  std::vector<T> memory;   // W [d, d]
  std::vector<T> inputs;   // e [N, d]
  std::vector<T> outputs;  // u [M, d]
};

/// e and u of a model, W = 0: entries N(0, 1/d); OutputScale::kUnit puts u on the sphere. Entries
/// are those of GaussianField(seed), so a smaller d has the prefixes of a larger one.
enum class OutputScale { kUnit, kGaussian };
AssociativeModel<float> random_model(const AssociationTask& task, int64_t dimension,
                                     OutputScale scale, uint64_t seed);

/// W [d, d] with N(0, 1/d) entries (appendix B.1), another stream of the same seed.
std::vector<float> random_memory(int64_t dimension, uint64_t seed);

/// <v_i, v_j> of `count` rows of d numbers: [count, count].
std::vector<float> gram_matrix(std::span<const float> rows, int64_t count, int64_t d);

/// A batch as weights of its distinct inputs, count / B, sum 1: the same gradient as the batch, at
/// most N rows.
struct WeightedBatch {
  std::vector<int32_t> inputs;  // distinct
  std::vector<float> weights;
};

WeightedBatch weighted_batch(std::span<const int32_t> draws);
/// Every input with its probability: the population gradient.
WeightedBatch population_batch(const AssociationTask& task);

/// What is learned, and whether logits are normalised.
struct GradientOptions {
  bool layer_norm = false;
  bool memory = true;
  bool inputs = false;
  bool outputs = false;
};

/// Gradients of the cross-entropy (16) over a batch; empty where not asked for.
template <typename T>
struct ModelGradient {
  double loss = 0;         // nats
  std::vector<T> memory;   // [d, d]
  std::vector<T> inputs;   // [distinct inputs of the batch, d]
  std::vector<T> outputs;  // [M, d]
};

/// Equation (17), and (21) with layer norm: |v| stands for sqrt(v . v + 1e-6). Without layer norm W
/// is multiplied by the M outputs rather than by the inputs, and its gradient is built from M sums.
/// Throws UsageError on sizes that do not fit or inputs out of range.
template <typename T>
ModelGradient<T> model_gradient(const AssociationTask& task, const AssociativeModel<T>& model,
                                const WeightedBatch& batch, const GradientOptions& options);

/// Logits of every input, [N, M]. Throws UsageError on sizes that do not fit.
std::vector<float> model_scores(const AssociationTask& task, const AssociativeModel<float>& model);

}  // namespace tessera::theory
