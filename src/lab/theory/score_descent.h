#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/theory/associative_model.h"

namespace tessera::theory {

/// Gradient descent on W with fixed embeddings, run on the scores S = E W U^T [N, M] instead of on
/// W: with K = E E^T and G = U U^T, a step on input x adds
/// gamma K[:, x] ((onehot(f(x)) - p)^T G) to S. Exact, N M multiplications a step whatever d is,
/// and the population error comes for free.
class ScoreDescent {
 public:
  /// Starts from the model's W. K takes N^2 floats. Throws UsageError on sizes that do not fit.
  ScoreDescent(const AssociationTask& task, const AssociativeModel<float>& model);

  /// Equation (18) with one sample.
  void step(int32_t input, double step_size);
  /// Equation (18) with a batch: S += gamma K C G.
  void step(const WeightedBatch& batch, double step_size);

  std::span<const float> scores() const { return scores_; }  // [N, M]
  double error() const;
  /// p_W(f(x) | x).
  double confidence(int32_t input) const;
  /// The score of f(x) less the mean of the others.
  double margin(int32_t input) const;
  /// Mean over y of |W^T u_y|^2 / d, counting what the steps have stored (not an initial W).
  double mean_noise() const;

 private:
  /// weight * (onehot(f(x)) - p), [M]
  void residual(int32_t input, float weight, float* out) const;

  const AssociationTask& task_;
  int64_t dimension_;
  std::vector<float> kernel_;    // K [N, N]
  std::vector<float> gram_;      // G [M, M]
  std::vector<float> scores_;    // S [N, M]
  std::vector<float> stored_;    // R [N, M] with W^T u_y = sum over x of R[x, y] e_x
  std::vector<float> residual_;  // scratch [M]
};

/// Weights that one sample at a time and the approximation (19) arrive at: equation (20), n =
/// counts, f(q) = q + gamma / (1 + e^q / rivals). rivals is M - 1 (exact for W = q e u^T alone) or
/// M (as in the paper). [N] -> [N]
std::vector<float> approximate_weights(std::span<const int64_t> counts, double step_size,
                                       double rivals);

/// Equation (56) for one batch: q(x) += gamma share(x) / (1 + e^q(x) / rivals), share = count / B.
void approximate_batch_step(const WeightedBatch& batch, double step_size, double rivals,
                            std::span<float> weights);

/// The step size that the load dictates: small where the noise swamps the margin,
/// least + (most - least) / (1 + load^2) with load = 2 kappa noise / margin^2, infinite where the
/// margin is 0 or less.
class LoadAdaptiveStep {
 public:
  LoadAdaptiveStep(double least, double most, double kappa)
      : least_(least), most_(most), kappa_(kappa) {}

  /// The size of the next step; `descent` is looked at before it, for the input that will be used.
  double next(const ScoreDescent& descent, int32_t input);

 private:
  double least_, most_, kappa_;
  double margin_ = 0, noise_ = 0;
  int64_t steps_ = 0;
};

}  // namespace tessera::theory
