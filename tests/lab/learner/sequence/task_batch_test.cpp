#include "lab/learner/sequence/task_batch.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab/task/associative_retrieval/associative_retrieval.h"
#include "lab/task/copy/copy.h"
#include "lab/task/graphs/graph_tasks.h"
#include "lab/task/moons/three_moons.h"
#include "lab/task/sequence/draws.h"
#include "tessera/base/error.h"

namespace tessera::task {
namespace {

const std::vector<int64_t> kFirstThree = {0, 1, 2};

/// Logits that answer as the batch asks, with this much confidence.
at::Tensor perfect_logits(const TaskBatch& batch, double confidence) {
  return (batch.targets * 2 - 1) * confidence;
}

TEST(TaskBatch, PutsSamplesSideBySideTimeFirst) {
  const Copy task({.bits = 3, .min_length = 2, .max_length = 4});
  const auto batch = make_batch(task, 5, kFirstThree);
  for (int64_t b = 0; b < 3; ++b) {
    const auto sample = task.draw_sample(5, b, 0);
    ASSERT_EQ(batch.inputs.sizes(), at::IntArrayRef({sample.steps, 3, 5}));
    ASSERT_EQ(batch.targets.sizes(), at::IntArrayRef({sample.steps, 3, 3}));
    for (int64_t t = 0; t < sample.steps; ++t) {
      const bool answers = t >= sample.first_answer;
      EXPECT_EQ(batch.answers[t][b].item().toBool(), answers);
      for (int64_t c = 0; c < 5; ++c)
        EXPECT_EQ(batch.inputs[t][b][c].item().toFloat(), sample.inputs[t * 5 + c]);
      for (int64_t c = 0; c < 3; ++c)
        EXPECT_EQ(batch.targets[t][b][c].item().toFloat(),
                  answers ? sample.bits[(t - sample.first_answer) * 3 + c] : 0);
    }
  }
}

// A model that saves the outputs of other steps gives the last ones alone.
TEST(TaskBatch, LogitsOfTheLastStepsAreEnough) {
  const Copy task({.bits = 3, .min_length = 2, .max_length = 2});
  const auto batch = make_batch(task, 5, kFirstThree);
  EXPECT_EQ(batch.first_answer, 4);
  at::manual_seed(3);
  const at::Tensor logits = at::randn({6, 3, 3});
  const double loss = answer_loss(logits, batch).item().toDouble();
  EXPECT_EQ(answer_loss(logits.slice(0, 4), batch).item().toDouble(), loss);
  EXPECT_EQ(score_answers(logits.slice(0, 4), batch), score_answers(logits, batch));
  EXPECT_THROW(answer_loss(logits.slice(0, 5), batch), UsageError);
  EXPECT_THROW(answer_loss(at::randn({7, 3, 3}), batch), UsageError);
  // Of samples of several lengths, the first answer of all.
  const auto graphs = make_batch(ShortestPath(GraphConfig{}), 0, kFirstThree);
  for (int64_t b = 0; b < 3; ++b)
    EXPECT_LE(graphs.first_answer, ShortestPath(GraphConfig{}).sample(0, b).first_answer);
}

TEST(TaskBatch, ShorterSamplesAreFollowedByZeros) {
  const ShortestPath task(GraphConfig{});
  const auto batch = make_batch(task, 0, kFirstThree, BatchSizes::kOwn);
  int64_t longest = 0;
  for (int64_t b = 0; b < 3; ++b) {
    const auto sample = task.sample(0, b);
    longest = std::max(longest, sample.steps);
    EXPECT_EQ(batch.answers.select(1, b).sum().item().toLong(), sample.answers);
    EXPECT_TRUE(batch.answers[sample.steps - 1][b].item().toBool());
    EXPECT_EQ(batch.targets[sample.steps - 1][b].item().toLong(), 40);
    EXPECT_EQ(batch.inputs.narrow(0, sample.steps, batch.inputs.size(0) - sample.steps)
                  .select(1, b)
                  .abs()
                  .sum()
                  .item()
                  .toDouble(),
              0);
  }
  EXPECT_EQ(batch.inputs.sizes(), at::IntArrayRef({longest, 3, 81}));
  EXPECT_EQ(batch.targets.sizes(), at::IntArrayRef({longest, 3}));
}

TEST(TaskBatch, SamplesMayKeepTheirOwnSizes) {
  const Copy task({.bits = 4, .min_length = 1, .max_length = 3});
  const auto own = make_batch(task, 0, kFirstThree, BatchSizes::kOwn);
  EXPECT_EQ(own.answers.sum().item().toLong(), 1 + 2 + 3);  // each length once
  const auto shared = make_batch(task, 0, kFirstThree);
  EXPECT_EQ(shared.answers.sum().item().toLong(), 3 * task.sample(0, 0).answers);
}

TEST(TaskBatch, TokensAreIds) {
  const auto batch = make_batch(AssociativeRetrieval({.pairs = 2}), 0, kFirstThree);
  EXPECT_EQ(batch.inputs.sizes(), at::IntArrayRef({7, 3}));
  EXPECT_EQ(batch.inputs.scalar_type(), at::kLong);
  EXPECT_EQ(batch.answers.sum().item().toLong(), 3);
  EXPECT_EQ(batch.inputs[6][1].item().toLong(),
            AssociativeRetrieval({.pairs = 2}).sample(0, 1).tokens[6]);
  EXPECT_THROW(make_batch(AssociativeRetrieval({.pairs = 2}), 0, {}), UsageError);
}

// One answer of two bits with logits 0 and ln 3: the losses are ln 2 and ln(4/3) or ln 4.
TEST(AnswerLoss, HandWorkedBits) {
  TaskBatch batch{at::zeros({2, 1, 1}), at::tensor({0.F, 0.F, 1.F, 0.F}).view({2, 1, 2}),
                  at::tensor({0, 1}).to(at::kBool).view({2, 1}), 0, TargetKind::kBits};
  const auto logits = at::tensor({9.F, -9.F, 0.F, std::log(3.F)}).view({2, 1, 2});
  EXPECT_NEAR(answer_loss(logits, batch).item().toDouble(), (std::log(2) + std::log(4)) / 2, 1e-6);
  EXPECT_EQ(score_answers(logits, batch), (TaskScore{1, 0, 2, 2}));
}

TEST(AnswerLoss, HandWorkedClasses) {
  TaskBatch batch{at::zeros({2, 1, 1}), at::tensor({0, 2}, at::kLong).view({2, 1}),
                  at::tensor({0, 1}).to(at::kBool).view({2, 1}), 0, TargetKind::kClasses};
  const auto logits =
      at::tensor({9.F, 0.F, 0.F, 0.F, std::log(2.F), std::log(5.F)}).view({2, 1, 3});
  EXPECT_NEAR(answer_loss(logits, batch).item().toDouble(), std::log(8.0 / 5), 1e-6);
  EXPECT_EQ(score_answers(logits, batch), (TaskScore{1, 1, 1, 0}));
}

// Errors 0.1 and -3, the latter clipped to 0.5. A number is wrong where its error is above that.
TEST(AnswerLoss, HandWorkedVectors) {
  TaskBatch batch{at::zeros({2, 1, 1}),
                  at::tensor({0.F, 0.F, 1.F, 2.F}).view({2, 1, 2}),
                  at::tensor({0, 1}).to(at::kBool).view({2, 1}),
                  0,
                  TargetKind::kVectors,
                  0.5};
  auto outputs = at::tensor({9.F, 9.F, 1.1F, -1.F}).view({2, 1, 2}).set_requires_grad(true);
  const at::Tensor loss = answer_loss(outputs, batch);
  EXPECT_NEAR(loss.item().toDouble(), (0.01 + 0.25) / 2, 1e-6);
  loss.backward();
  EXPECT_TRUE(at::allclose(outputs.grad().flatten(), at::tensor({0.F, 0.F, 0.1F, 0.F}), 1e-4));
  TaskScore score = score_answers(outputs, batch);
  EXPECT_NEAR(score.mean_absolute_error(), 3.1 / 2, 1e-6);
  score.absolute_error = 0;
  EXPECT_EQ(score, (TaskScore{1, 0, 2, 1}));
}

TEST(TaskBatch, VectorsComeWithTheClipOfTheirError) {
  const ThreeMoons task({.steps = 3, .clip = 0.25});
  const auto batch = make_batch(task, 5, kFirstThree);
  EXPECT_EQ(batch.clip, 0.25);
  EXPECT_EQ(batch.to(at::kCPU).clip, 0.25);
  EXPECT_EQ(batch.first_answer, 0);
  EXPECT_TRUE(batch.answers.all().item().toBool());
  EXPECT_EQ(batch.targets.sizes(), at::IntArrayRef({3, 3, 6}));
  EXPECT_TRUE(batch.targets.slice(0, 0, 2).equal(batch.inputs.slice(0, 1)));
  EXPECT_EQ(score_answers(batch.targets, batch).mean_absolute_error(), 0);
}

TEST(AnswerLoss, OnlyAnswerStepsCountAndHaveGradients) {
  const Copy task({.bits = 3, .min_length = 2, .max_length = 2});
  const auto batch = make_batch(task, 0, kFirstThree);
  auto logits = at::randn({6, 3, 3}).set_requires_grad(true);
  answer_loss(logits, batch).backward();
  const auto moved = logits.grad().ne(0).any(-1);
  EXPECT_TRUE(moved.equal(batch.answers));
  auto other = logits.detach().clone();
  other.narrow(0, 0, 4).fill_(7);  // what is said before the answers
  EXPECT_EQ(answer_loss(other, batch).item().toDouble(),
            answer_loss(logits, batch).item().toDouble());
  EXPECT_EQ(score_answers(other, batch), score_answers(logits, batch));
}

TEST(TaskScore, CountsWrongSymbolsAndPerfectSequences) {
  const Copy task({.bits = 4, .min_length = 2, .max_length = 2});
  const auto batch = make_batch(task, 0, kFirstThree);
  auto logits = perfect_logits(batch, 5);
  EXPECT_EQ(score_answers(logits, batch), (TaskScore{3, 3, 24, 0}));
  logits[4][1][2].neg_();
  logits[5][1][0].neg_();
  const auto score = score_answers(logits, batch);
  EXPECT_EQ(score, (TaskScore{3, 2, 24, 2}));
  EXPECT_DOUBLE_EQ(score.wrong_per_sequence(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(score.accuracy(), 22.0 / 24);
  EXPECT_DOUBLE_EQ(score.perfect_share(), 2.0 / 3);
  TaskScore sum = score;
  sum += score;
  EXPECT_EQ(sum, (TaskScore{6, 4, 48, 4}));
  EXPECT_TRUE(std::isnan(TaskScore{}.accuracy()));
}

TEST(TaskScore, AnswersArePaddedToTheLongestOf128) {
  EXPECT_EQ(padding_steps({}), 0);
  EXPECT_EQ(padding_steps(std::vector<int64_t>{2, 3, 1}), 3);
  std::vector<int64_t> lengths(130, 1);
  lengths[127] = 3;  // the last of the first 128
  lengths[129] = 2;
  EXPECT_EQ(padding_steps(lengths), 127 * 2 + 1);
}

// Answers of 2 and 3 classes: the shorter one is padded by one.
TEST(TaskScore, PaddingMayCountAsRight) {
  TaskBatch batch;
  batch.kind = TargetKind::kClasses;
  batch.targets = at::tensor({0, 0, 1, 1, 0, 1}, at::kLong).view({3, 2});
  batch.answers = at::tensor({1, 1, 1, 1, 0, 1}, at::kLong).view({3, 2}).to(at::kBool);
  const auto says_class_1 = at::tensor({0.0, 1.0}).expand({3, 2, 2});
  auto score = score_answers(says_class_1, batch);
  EXPECT_EQ(score, (TaskScore{.sequences = 2, .symbols = 5, .wrong_symbols = 2}));
  score.padding = padding_steps(std::vector<int64_t>{2, 3});
  EXPECT_DOUBLE_EQ(score.accuracy(), 3.0 / 5);
  EXPECT_DOUBLE_EQ(score.padded_accuracy(), 4.0 / 6);
}

TEST(TaskScore, NotANumberIsWrong) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto bits = make_batch(Copy({.bits = 4, .min_length = 1, .max_length = 1}), 0, kFirstThree);
  EXPECT_EQ(score_answers(at::full({4, 3, 4}, nan), bits), (TaskScore{3, 0, 12, 12}));
  const auto classes = make_batch(AssociativeRetrieval({.pairs = 1}), 0, kFirstThree);
  EXPECT_EQ(score_answers(at::full({5, 3, 10}, nan), classes), (TaskScore{3, 0, 3, 3}));
  const auto vectors = make_batch(ThreeMoons({.steps = 2}), 0, kFirstThree);
  EXPECT_EQ(score_answers(at::full({2, 3, 6}, nan), vectors).wrong_symbols, 36);
}

TEST(TaskScore, RefusesOtherShapes) {
  const auto bits = make_batch(Copy({.bits = 4, .min_length = 1, .max_length = 1}), 0, kFirstThree);
  EXPECT_THROW(score_answers(at::zeros({4, 3, 5}), bits), UsageError);
  EXPECT_THROW(answer_loss(at::zeros({5, 3, 4}), bits), UsageError);
  EXPECT_THROW(answer_loss(at::zeros({4, 2, 4}), bits), UsageError);
  const auto digits = make_batch(AssociativeRetrieval({.pairs = 1}), 0, kFirstThree);
  EXPECT_THROW(answer_loss(at::zeros({5, 3, 1}), digits), UsageError);
}

TEST(SampleOrder, TheLastBatchHasTheRest) {
  EXPECT_EQ(batches_in_order(5, 2), (std::vector<std::vector<int64_t>>{{0, 1}, {2, 3}, {4}}));
  EXPECT_TRUE(batches_in_order(0, 2).empty());
  EXPECT_THROW(batches_in_order(3, 0), UsageError);
}

TEST(SampleOrder, FreshSamplesNeverRepeat) {
  EXPECT_EQ(fresh_samples(0, 3), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(fresh_samples(2, 3), (std::vector<int64_t>{6, 7, 8}));
  EXPECT_THROW(fresh_samples(-1, 3), UsageError);
  EXPECT_THROW(fresh_samples(0, 0), UsageError);
}

TEST(SampleOrder, AnEpochTakesEachSampleOnce) {
  EpochOrder order(4, 10, 3);
  EXPECT_EQ(order.steps_per_epoch(), 3);  // the tenth is left out
  std::vector<std::vector<int64_t>> epochs(2);
  for (int64_t step = 0; step < 6; ++step)
    for (int64_t sample : order.samples(step)) epochs[step / 3].push_back(sample);
  EXPECT_NE(epochs[0], epochs[1]);
  for (auto epoch : epochs) {
    std::sort(epoch.begin(), epoch.end());
    EXPECT_EQ(std::unique(epoch.begin(), epoch.end()), epoch.end());
    EXPECT_GE(epoch.front(), 0);
    EXPECT_LT(epoch.back(), 10);
  }
  EpochOrder resumed(4, 10, 3);
  EXPECT_EQ(resumed.samples(4), order.samples(4));
  EXPECT_EQ(EpochOrder(0, 3, 3).samples(7).size(), 3u);
  EXPECT_THROW(EpochOrder(0, 2, 3), UsageError);
  EXPECT_THROW(EpochOrder(0, 2, 0), UsageError);
}

}  // namespace
}  // namespace tessera::task
