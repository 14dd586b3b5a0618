#include "lab/theory/score_descent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "lab/theory/descent.h"
#include "lab/theory/likelihood_ratio.h"
#include "tessera/base/error.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

TEST(ScoreDescent, IsDescentOnTheMatrix) {
  const AssociationTask task = zipf_task(40, 5, 1.5);
  auto model = random_model(task, 12, OutputScale::kUnit, 2);
  model.memory = random_memory(12, 2);
  ScoreDescent scores(task, model);
  const AliasTable table(task.law);
  RandomStream random(1);
  for (int t = 0; t < 200; ++t) {
    const int32_t x = table.draw(random);
    scores.step(x, 1.0);
    descend(task, weighted_batch(std::vector<int32_t>{x}), {.memory = 1.0}, model);
  }
  for (int t = 0; t < 20; ++t) {
    std::vector<int32_t> draws(64);
    for (int32_t& x : draws) x = table.draw(random);
    scores.step(weighted_batch(draws), 3.0);
    descend(task, weighted_batch(draws), {.memory = 3.0}, model);
  }
  const auto expected = model_scores(task, model);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(scores.scores()[i], expected[i], 2e-3);
  EXPECT_EQ(scores.error(), population_error_of_scores(task, expected));
}

TEST(ScoreDescent, RefusesSizesThatDoNotFitBeforeItReadsThem) {
  const AssociationTask task = zipf_task(6, 3, 1);
  const auto model = random_model(task, 4, OutputScale::kUnit, 1);
  for (auto part : {&AssociativeModel<float>::memory, &AssociativeModel<float>::inputs,
                    &AssociativeModel<float>::outputs}) {
    auto short_of_a_part = model;
    (short_of_a_part.*part).clear();
    EXPECT_THROW(ScoreDescent(task, short_of_a_part), UsageError);
    EXPECT_THROW(model_scores(task, short_of_a_part), UsageError);
  }
}

TEST(ScoreDescent, NoiseIsThatOfTheMatrix) {
  const AssociationTask task = zipf_task(30, 4, 1);
  auto model = random_model(task, 9, OutputScale::kUnit, 5);
  ScoreDescent scores(task, model);
  EXPECT_EQ(scores.mean_noise(), 0);
  for (int32_t t = 0; t < 90; ++t) {
    scores.step(t % 30, 2.0);
    descend(task, weighted_batch(std::vector<int32_t>{t % 30}), {.memory = 2.0}, model);
  }
  const auto noise = class_noise(model.memory, model.outputs, 9);
  EXPECT_NEAR(scores.mean_noise(), std::accumulate(noise.begin(), noise.end(), 0.0) / 4,
              1e-3 * scores.mean_noise());
}

TEST(ScoreDescent, ConfidenceAndMarginOfAnEmptyMemory) {
  const AssociationTask task = zipf_task(10, 5, 1);
  ScoreDescent scores(task, random_model(task, 100, OutputScale::kUnit, 5));
  EXPECT_NEAR(scores.confidence(3), 0.2, 1e-6);
  EXPECT_EQ(scores.margin(3), 0);
  scores.step(3, 10.0);
  EXPECT_GT(scores.confidence(3), 0.9);
  EXPECT_GT(scores.margin(3), 5);
}

TEST(ApproximateWeights, TwoStepsByHand) {
  // f(0) = 1 / (1 + 1/4) = 0.8; f(0.8) = 0.8 + 1 / (1 + e^0.8 / 4).
  const auto q = approximate_weights(std::vector<int64_t>{2, 0, 1}, 1.0, 4);
  EXPECT_NEAR(q[0], 0.8 + 1 / (1 + std::exp(0.8) / 4), 1e-6);
  EXPECT_EQ(q[1], 0);
  EXPECT_NEAR(q[2], 0.8, 1e-6);
  std::vector<float> batch(3, 0.0f);
  approximate_batch_step({.inputs = {0, 2}, .weights = {0.75f, 0.25f}}, 4.0, 4, batch);
  EXPECT_NEAR(batch[0], 3 * 0.8, 1e-6);
  EXPECT_EQ(batch[1], 0);
  EXPECT_NEAR(batch[2], 0.8, 1e-6);
  EXPECT_THROW(approximate_weights(std::vector<int64_t>{1}, 1.0, 0), UsageError);
  EXPECT_THROW(approximate_weights(std::vector<int64_t>{2, -1}, 1.0, 4), UsageError);
}

TEST(ApproximateWeights, LargeStepsStoreAllAlikeAndSmallOnesByFrequency) {
  std::vector<int64_t> counts;
  for (int64_t n = 1; n <= 100; ++n) counts.push_back(n);
  const auto large = approximate_weights(counts, 10, 10),
             small = approximate_weights(counts, 1e-3, 10);
  EXPECT_LT(large[99] / large[9], 1.1);
  EXPECT_NEAR(small[99] / small[9], 10, 0.1);
}

TEST(ApproximateWeights, AreTheScoresOfDescentWhenThereIsRoom) {
  const AssociationTask task = zipf_task(20, 5, 1);
  const auto model = random_model(task, 20000, OutputScale::kUnit, 1);
  ScoreDescent scores(task, model);
  std::vector<int64_t> counts(20, 0);
  for (int32_t t = 0; t < 60; ++t) {
    ++counts[t % 20];
    scores.step(t % 20, 1.0);
  }
  const auto q = approximate_weights(counts, 1.0, 4);
  // The mean of the others falls, too: the gradient's epsilon, which (19) drops.
  for (int32_t x = 0; x < 20; ++x) EXPECT_NEAR(scores.margin(x), q[x], 0.35 * q[x]) << x;
}

TEST(LoadAdaptiveStep, StartsLargeAndShrinksWhenTheMemoryIsFull) {
  const AssociationTask task = zipf_task(60, 5, 1);
  ScoreDescent scores(task, random_model(task, 4, OutputScale::kUnit, 1));
  LoadAdaptiveStep step(0.1, 10, 4);
  const AliasTable table(task.law);
  RandomStream random(1);
  double last = 0;
  for (int t = 0; t < 600; ++t) {
    const int32_t x = table.draw(random);
    last = step.next(scores, x);
    if (t < 50) {
      EXPECT_EQ(last, 10);
    }
    scores.step(x, last);
  }
  EXPECT_LT(last, 1);
  EXPECT_GE(last, 0.1);
}

}  // namespace
}  // namespace tessera::theory
