#include "lab/theory/descent.h"

#include <algorithm>
#include <cmath>

namespace tessera::theory {
namespace {

constexpr float kSignFloor = 1e-8f;
constexpr double kBeta1 = 0.9, kBeta2 = 0.999;  // of Adam

/// target -= size * rule(gradient).
void update(UpdateRule rule, double size, std::span<const float> gradient, float* target) {
  const auto step = static_cast<float>(size);
  if (rule == UpdateRule::kSign) {
    for (size_t i = 0; i < gradient.size(); ++i)
      target[i] -= step * gradient[i] / (std::abs(gradient[i]) + kSignFloor);
    return;
  }
  const double deviation = rule == UpdateRule::kRescaled ? entry_deviation(gradient) : 1;
  if (deviation == 0) return;
  for (size_t i = 0; i < gradient.size(); ++i)  // the quotient first: it is at most about √n
    target[i] -= step * static_cast<float>(gradient[i] / deviation);
}

ModelGradient<float> gradient_for(const AssociationTask& task, const WeightedBatch& batch,
                                  const DescentStep& step, const AssociativeModel<float>& model) {
  return model_gradient(task, model, batch,
                        {.layer_norm = step.layer_norm,
                         .memory = step.memory != 0,
                         .inputs = step.inputs != 0,
                         .outputs = step.outputs != 0});
}

}  // namespace

double entry_deviation(std::span<const float> values) {
  double mean = 0, squares = 0;
  const double n = values.size();
  for (const float value : values) mean += value / n;
  for (const float value : values) squares += (value - mean) * (value - mean);
  return values.size() > 1 ? std::sqrt(squares / (n - 1)) : 0.0;
}

DescentStep width_independent_step(UpdateRule rule, double size, int64_t dimension,
                                   bool learn_embeddings) {
  const double d = dimension;
  const bool sign = rule == UpdateRule::kSign;
  const double of_embeddings = !learn_embeddings ? 0 : sign ? size / std::sqrt(d) : size;
  return {.rule = rule,
          .memory = sign ? size / d : size,
          .inputs = of_embeddings,
          .outputs = of_embeddings};
}

void descend(const AssociationTask& task, const WeightedBatch& batch, const DescentStep& step,
             AssociativeModel<float>& model) {
  const auto gradient = gradient_for(task, batch, step, model);
  update(step.rule, step.memory, gradient.memory, model.memory.data());
  update(step.rule, step.outputs, gradient.outputs, model.outputs.data());
  const size_t d = model.dimension;
  for (size_t row = 0; row * d < gradient.inputs.size(); ++row)
    update(step.rule, step.inputs, std::span(gradient.inputs).subspan(row * d, d),
           model.inputs.data() + batch.inputs[row] * d);
}

void AdamDescent::descend(const AssociationTask& task, const WeightedBatch& batch,
                          AssociativeModel<float>& model) {
  const auto gradient = gradient_for(task, batch, step_, model);
  ++batches_;
  update(step_.memory, gradient.memory, memory_, model.memory);
  update(step_.outputs, gradient.outputs, outputs_, model.outputs);
  if (step_.inputs == 0) return;
  std::vector<float> of_inputs(model.inputs.size(), 0.0f);
  const size_t d = model.dimension;
  for (size_t row = 0; row < batch.inputs.size(); ++row)
    std::copy_n(gradient.inputs.begin() + row * d, d,
                of_inputs.begin() + batch.inputs[row] * model.dimension);
  update(step_.inputs, of_inputs, inputs_, model.inputs);
}

void AdamDescent::update(double size, std::span<const float> gradient, Moments& moments,
                         std::span<float> target) const {
  if (size == 0) return;
  moments.first.resize(target.size(), 0.0f);
  moments.second.resize(target.size(), 0.0f);
  const auto keep1 = static_cast<float>(kBeta1), keep2 = static_cast<float>(kBeta2);
  const double steps = batches_;
  const auto scale = static_cast<float>(size / (1 - std::pow(kBeta1, steps)));
  const auto correction = static_cast<float>(1 / (1 - std::pow(kBeta2, steps)));
  for (size_t i = 0; i < target.size(); ++i) {
    float &first = moments.first[i], &second = moments.second[i];
    first = keep1 * first + (1 - keep1) * gradient[i];
    second = keep2 * second + (1 - keep2) * gradient[i] * gradient[i];
    target[i] -= scale * first / (std::sqrt(second * correction) + kSignFloor);
  }
}

}  // namespace tessera::theory
