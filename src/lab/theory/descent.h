#pragma once

#include "lab/theory/associative_model.h"

namespace tessera::theory {

/// How a gradient becomes an update, entry by entry.
enum class UpdateRule {
  kGradient,  // g
  kSign,      // g / (|g| + 1e-8): Adam with both betas 0
  kRescaled   // g / standard deviation of g over all its entries
};

/// One step of descent on the cross-entropy. Step sizes are those of W, e and u; a step of 0 leaves
/// that part as it is.
struct DescentStep {
  UpdateRule rule = UpdateRule::kGradient;
  bool layer_norm = false;
  double memory = 0, inputs = 0, outputs = 0;
};

/// The step sizes that keep updates of a fixed relative size at any width (appendix B.1), for
/// W with N(0, 1/d) entries and e, u of length near 1: `size` for plain gradients, size / d on W
/// and size / sqrt(d) on e and u, where they are learned, under the sign rule. With kRescaled W
/// takes `size` as it is.
DescentStep width_independent_step(UpdateRule rule, double size, int64_t dimension,
                                   bool learn_embeddings);

/// Updates the model by one batch.
void descend(const AssociationTask& task, const WeightedBatch& batch, const DescentStep& step,
             AssociativeModel<float>& model);

/// Adam (Kingma and Ba 2015), betas 0.9 and 0.999, with moments kept between batches, for what
/// kSign, its case without memory, is too rough for. step.rule is not looked at.
class AdamDescent {
 public:
  explicit AdamDescent(const DescentStep& step) : step_(step) {}

  /// Updates the model by one batch; inputs outside the batch have gradient 0 but keep moving.
  void descend(const AssociationTask& task, const WeightedBatch& batch,
               AssociativeModel<float>& model);

 private:
  struct Moments {
    std::vector<float> first, second;
  };
  void update(double size, std::span<const float> gradient, Moments& moments,
              std::span<float> target) const;

  DescentStep step_;
  int64_t batches_ = 0;
  Moments memory_, inputs_, outputs_;
};

/// Standard deviation over the entries.
double entry_deviation(std::span<const float> values);

}  // namespace tessera::theory
