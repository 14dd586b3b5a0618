#include "lab/theory/associative_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/error.h"

namespace tessera::theory {
namespace {

AssociativeModel<double> double_model(const AssociationTask& task, int64_t d, uint64_t seed) {
  const auto single = random_model(task, d, OutputScale::kGaussian, seed);
  const auto memory = random_memory(d, seed);
  return {.dimension = d,
          .memory = {memory.begin(), memory.end()},
          .inputs = {single.inputs.begin(), single.inputs.end()},
          .outputs = {single.outputs.begin(), single.outputs.end()}};
}

double loss_of(const AssociationTask& task, const AssociativeModel<double>& model,
               const WeightedBatch& batch, bool layer_norm) {
  return model_gradient(task, model, batch, {.layer_norm = layer_norm, .memory = false}).loss;
}

TEST(ModelGradient, AgreesWithCentralDifferences) {
  const AssociationTask task = zipf_task(6, 3, 1);
  const WeightedBatch batch{.inputs = {0, 2, 5}, .weights = {0.5f, 0.25f, 0.25f}};
  constexpr double kStep = 1e-6;
  for (const bool layer_norm : {false, true}) {
    auto model = double_model(task, 4, 3);
    const auto gradient =
        model_gradient(task, model, batch,
                       {.layer_norm = layer_norm, .memory = true, .inputs = true, .outputs = true});
    const auto slope = [&](double& entry) {
      const double centre = entry;
      entry = centre + kStep;
      const double above = loss_of(task, model, batch, layer_norm);
      entry = centre - kStep;
      const double below = loss_of(task, model, batch, layer_norm);
      entry = centre;
      return (above - below) / (2 * kStep);
    };
    for (size_t i = 0; i < model.memory.size(); ++i)
      EXPECT_NEAR(gradient.memory[i], slope(model.memory[i]), 1e-8) << layer_norm << " W " << i;
    for (size_t i = 0; i < model.outputs.size(); ++i)
      EXPECT_NEAR(gradient.outputs[i], slope(model.outputs[i]), 1e-8) << layer_norm << " u " << i;
    for (size_t row = 0; row < 3; ++row)
      for (size_t j = 0; j < 4; ++j)
        EXPECT_NEAR(gradient.inputs[row * 4 + j],
                    slope(model.inputs[static_cast<size_t>(batch.inputs[row]) * 4 + j]), 1e-8)
            << layer_norm << " e " << row << " " << j;
  }
}

TEST(ModelGradient, EquationSeventeenByHand) {
  // d = 1, M = 2, u = (1, -1), e = 1, W = 0: p = 1/2, gradient -(1 - p)(u_0 - u_1) e = -1.
  const AssociationTask task = zipf_task(1, 2, 1);
  const AssociativeModel<double> model{
      .dimension = 1, .memory = {0}, .inputs = {1}, .outputs = {1, -1}};
  const auto gradient = model_gradient(task, model, population_batch(task), {});
  EXPECT_NEAR(gradient.loss, std::log(2), 1e-12);
  EXPECT_NEAR(gradient.memory[0], -1, 1e-12);
  EXPECT_TRUE(gradient.inputs.empty());
  EXPECT_TRUE(gradient.outputs.empty());
}

TEST(WeightedBatch, CountsDistinctInputs) {
  const WeightedBatch batch = weighted_batch(std::vector<int32_t>{4, 1, 4, 4});
  EXPECT_EQ(batch.inputs, (std::vector<int32_t>{1, 4}));
  EXPECT_EQ(batch.weights, (std::vector<float>{0.25f, 0.75f}));
  EXPECT_TRUE(weighted_batch({}).inputs.empty());
}

TEST(ModelGradient, OfARepeatedBatchIsThatOfItsWeights) {
  const AssociationTask task = zipf_task(6, 3, 1);
  const auto model = double_model(task, 5, 1);
  const WeightedBatch repeated{.inputs = {2, 2, 3, 2}, .weights = {.25f, .25f, .25f, .25f}};
  const auto a = model_gradient(task, model, repeated, {});
  const auto b = model_gradient(task, model, weighted_batch(std::vector<int32_t>{2, 2, 3, 2}), {});
  EXPECT_NEAR(a.loss, b.loss, 1e-12);
  for (size_t i = 0; i < a.memory.size(); ++i) EXPECT_NEAR(a.memory[i], b.memory[i], 1e-12);
}

TEST(ModelGradient, RefusesSizesThatDoNotFit) {
  const AssociationTask task = zipf_task(6, 3, 1);
  auto model = double_model(task, 4, 3);
  EXPECT_THROW(model_gradient(task, model, {.inputs = {6}, .weights = {1}}, {}), UsageError);
  EXPECT_THROW(model_gradient(task, model, {.inputs = {1}, .weights = {}}, {}), UsageError);
  model.memory.pop_back();
  EXPECT_THROW(model_gradient(task, model, population_batch(task), {}), UsageError);
  EXPECT_THROW(random_model(task, 0, OutputScale::kUnit, 1), UsageError);
}

}  // namespace
}  // namespace tessera::theory
