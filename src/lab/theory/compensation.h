#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/plan/association_task.h"

/// How output embeddings can turn the interference of a memory into help (Cabannes et al. 2024,
/// section A.9.1).
namespace tessera::theory {

/// What W = sum over x of q(x) u_f(x) e_x^T (eq. 4) finds of each output at each input, before the
/// outputs' own products: v_y(x) = sum of q(x') <e_x', e_x> / d over the x' with f(x') = y, for
/// standard normal e drawn from `seed`. [N, M], row-major
std::vector<double> found_outputs(const AssociationTask& task, std::span<const float> weights,
                                  int64_t dimension, uint64_t seed);

/// The scores of equation (54): <u_y, W e_x> = sum over y' of v_y'(x) <u_y', u_y>. An error is made
/// where another output than f(x) has the largest (55). found [N, M], outputs u [M, d] -> [N, M]
std::vector<double> compensated_scores(std::span<const double> found,
                                       std::span<const double> outputs, int64_t dimension);

/// `count` unit vectors with equal products, -1 / (count - 1), in `dimension` >= count - 1: the
/// corners of a regular simplex. [count, d]. Throws UsageError in fewer dimensions, or for
/// fewer than two.
std::vector<double> simplex_outputs(int64_t count, int64_t dimension);

/// The mean over p of the cross entropy of softmax(sharpness * scores) and its derivative by each
/// entry of u, which need not have unit length.
struct OutputLoss {
  double nats = 0;
  std::vector<double> gradient;  ///< [M, d]
};
OutputLoss output_loss(const AssociationTask& task, std::span<const double> found,
                       std::span<const double> outputs, int64_t dimension, double sharpness);

/// Unit vectors u that fit the interference of this memory: gradient descent on output_loss() from
/// `start` on, each step followed by a return to unit length. The step halves where it would raise
/// the loss. The sharpness is the power of 2 with the least loss, chosen again every 50 steps: with
/// a larger one the vectors would move together, only to doubt more. [M, d]
std::vector<double> compensating_outputs(const AssociationTask& task, std::span<const double> found,
                                         std::vector<double> start, int64_t dimension,
                                         int64_t steps);

}  // namespace tessera::theory
