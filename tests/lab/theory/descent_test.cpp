#include "lab/theory/descent.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

/// d = 1, M = 2, u = (1, -1), e = 1, W = 0: the gradient of W is -1 (see associative_model_test).
AssociativeModel<float> tiny_model() {
  return {.dimension = 1, .memory = {0}, .inputs = {1}, .outputs = {1, -1}};
}

TEST(Descend, OneStepOfEachRuleByHand) {
  const AssociationTask task = zipf_task(1, 2, 1);
  auto model = tiny_model();
  descend(task, population_batch(task), {.memory = 0.5}, model);
  EXPECT_FLOAT_EQ(model.memory[0], 0.5f);
  EXPECT_EQ(model.inputs, tiny_model().inputs);

  model = tiny_model();
  descend(task, population_batch(task), {.rule = UpdateRule::kSign, .memory = 0.25}, model);
  EXPECT_NEAR(model.memory[0], 0.25, 1e-6);

  // A single entry has no deviation: the rescaled rule stands still rather than divide by zero.
  model = tiny_model();
  descend(task, population_batch(task), {.rule = UpdateRule::kRescaled, .memory = 1}, model);
  EXPECT_EQ(model.memory[0], 0);
}

TEST(Descend, RescaledStepHasTheDeviationAskedFor) {
  const AssociationTask task = zipf_task(20, 5, 1);
  auto model = random_model(task, 8, OutputScale::kUnit, 1);
  descend(task, population_batch(task), {.rule = UpdateRule::kRescaled, .memory = 0.3}, model);
  EXPECT_NEAR(entry_deviation(model.memory), 0.3, 1e-5);
}

/// Only the first of four entries of the gradient is not 0: twice their deviation.
TEST(Descend, RescaledStepsOfTheSmallestGradientsAreFinite) {
  const AssociationTask task = zipf_task(1, 2, 1);
  AssociativeModel<float> model = {
      .dimension = 2, .memory = {45, 0, 0, 0}, .inputs = {1, 0}, .outputs = {1, 0, -1, 0}};
  descend(task, population_batch(task), {.rule = UpdateRule::kRescaled, .memory = 1}, model);
  EXPECT_EQ(model.memory, (std::vector<float>{47, 0, 0, 0}));
}

TEST(Descend, StepSizesOfAppendixB1) {
  const auto sign = width_independent_step(UpdateRule::kSign, 2, 100, true);
  EXPECT_DOUBLE_EQ(sign.memory, 0.02);
  EXPECT_DOUBLE_EQ(sign.inputs, 0.2);
  EXPECT_DOUBLE_EQ(sign.outputs, 0.2);
  const auto plain = width_independent_step(UpdateRule::kGradient, 2, 100, true);
  EXPECT_EQ(plain.memory, 2);
  EXPECT_EQ(plain.inputs, 2);
  EXPECT_EQ(width_independent_step(UpdateRule::kSign, 2, 100, false).inputs, 0);
}

TEST(Descend, LearnedEmbeddingsHoldMoreThanTheDimension) {
  // 20 inputs, 5 outputs, two dimensions: only by moving the embeddings.
  const AssociationTask task = zipf_task(20, 5, 1);
  const auto after = [&](bool learn_embeddings) {
    auto model = random_model(task, 2, OutputScale::kGaussian, 4);
    model.memory = random_memory(2, 4);
    AdamDescent adam({.memory = 0.05,
                      .inputs = learn_embeddings ? 0.05 : 0,
                      .outputs = learn_embeddings ? 0.05 : 0});
    for (int step = 0; step < 600; ++step) adam.descend(task, population_batch(task), model);
    return population_error_of_scores(task, model_scores(task, model));
  };
  EXPECT_EQ(after(true), 0.0);
  EXPECT_GT(after(false), 0.2);
}

TEST(AdamDescent, FirstStepIsTheSignAndMomentsDecay) {
  const AssociationTask task = zipf_task(1, 2, 1);
  auto model = tiny_model();
  AdamDescent adam({.memory = 0.1});
  adam.descend(task, population_batch(task), model);
  EXPECT_NEAR(model.memory[0], 0.1, 1e-6);
  // Second gradient: p = sigmoid(0.2), g = -2 (1 - p); both moments corrected.
  const double g1 = 1, g2 = 2 * (1 - 1 / (1 + std::exp(-0.2)));
  adam.descend(task, population_batch(task), model);
  const double first = (0.09 * g1 + 0.1 * g2) / (1 - 0.81);
  const double second = (0.000999 * g1 * g1 + 0.001 * g2 * g2) / (1 - 0.998001);
  EXPECT_NEAR(model.memory[0], 0.1 + 0.1 * first / std::sqrt(second), 1e-5);
}

}  // namespace
}  // namespace tessera::theory
