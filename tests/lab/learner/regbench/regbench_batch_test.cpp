#include "lab/learner/regbench/regbench_batch.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/tensor/tensor_file.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

RegBench small_task() {
  return RegBench({.letters = 5,
                   .max_alphabet = 5,
                   .max_states = 5,
                   .min_strings = 2,
                   .max_strings = 4,
                   .max_length = 3});
}

const std::vector<int64_t> kFirst = {0, 1, 2, 3};

TEST(RegBenchBatch, HoldsSequencesTheirNextTokensAndTheTruth) {
  const RegBench task = small_task();
  const RegBenchBatch batch = make_regbench_batch(task, {1, 2}, kFirst);
  size_t longest = 0;
  for (const int64_t index : kFirst) {
    const Automaton automaton = task.automaton(1, index);
    const auto [tokens, states] = task.sequence(automaton, 2, index);
    longest = std::max(longest, tokens.size());
    for (int64_t t = 0; t < batch.inputs.size(1); ++t) {
      const size_t here = t;
      const bool inside = here + 1 < tokens.size();
      EXPECT_EQ(batch.inputs[index][t].item<int64_t>(), inside ? tokens[here] : task.padding());
      const bool counts = inside && tokens[here + 1] != task.separator();
      EXPECT_EQ(batch.targets[index][t].item<int64_t>(), counts ? tokens[here + 1] : -1);
      const auto expected = inside ? at::tensor(task.next_symbol(automaton, states[here]))
                                   : at::zeros({task.vocabulary()});
      EXPECT_TRUE(batch.truth[index][t].equal(expected.to(at::kFloat)));
    }
  }
  EXPECT_EQ(batch.inputs.size(1), static_cast<int64_t>(longest) - 1);
  EXPECT_THROW(make_regbench_batch(task, {1, 2}, {}), UsageError);
}

TEST(RegBenchScore, WorkedByHand) {
  // Two letters, a separator and padding. The next symbol is 0 or 1; 1 for sure; one before a
  // separator; nothing behind the end.
  RegBenchBatch batch;
  batch.targets = at::tensor({0, 1, -1, -1}, at::kLong).view({1, 4});
  batch.truth = at::tensor({.5F, .5F, 0.F, 0.F, 0.F, 1.F, 0.F, 0.F,  //
                            .5F, .5F, 0.F, 0.F, 0.F, 0.F, 0.F, 0.F})
                    .view({1, 4, 4});
  const at::Tensor predicted = at::tensor({.25F, .25F, .25F, .25F, .7F, .1F, .1F, .1F,  //
                                           .1F, .1F, .7F, .1F, 1.F, 1.F, 1.F, 1.F})
                                   .view({1, 4, 4});
  const RegBenchScore score = score_regbench(predicted.log(), batch);
  EXPECT_EQ(score.answers, 2);
  EXPECT_EQ(score.legal, 1);  // 0 may come first; 0 may not come second
  EXPECT_EQ(score.accuracy(), 0.5);
  EXPECT_EQ(score.positions, 3);
  // (.25 + .25 + .25 + .25) / 2, (.7 + .9 + .1 + .1) / 2, (.4 + .4 + .7 + .1) / 2
  EXPECT_NEAR(score.variation, 0.5 + 0.9 + 0.8, 1e-6);
  EXPECT_NEAR(score.distance(), 2.2 / 3, 1e-6);
}

TEST(RegBenchScore, WhoKnowsTheAutomatonIsFaultless) {
  const RegBenchBatch batch = make_regbench_batch(small_task(), {1, 2}, kFirst);
  const RegBenchScore score = score_regbench((batch.truth + 1e-30).log(), batch);
  EXPECT_EQ(score.accuracy(), 1);
  EXPECT_NEAR(score.distance(), 0, 1e-6);
  EXPECT_GT(score.positions, score.answers);
}

TEST(RegBenchScore, NotANumberIsNotLegal) {
  const RegBenchBatch batch = make_regbench_batch(small_task(), {1, 2}, kFirst);
  const RegBenchScore score = score_regbench(at::full_like(batch.truth, NAN), batch);
  EXPECT_EQ(score.legal, 0);
  EXPECT_GT(score.answers, 0);
}

TEST(RegBenchScore, ScoresAddUp) {
  const RegBench task = small_task();
  const auto score_of = [&](const std::vector<int64_t>& automata) {
    const RegBenchBatch batch = make_regbench_batch(task, {1, 2}, automata);
    return score_regbench(at::cos(at::arange(task.vocabulary()) * 3.0).expand_as(batch.truth),
                          batch);
  };
  RegBenchScore sum = score_of({0, 1});
  sum += score_of({2, 3});
  const RegBenchScore whole = score_of(kFirst);
  EXPECT_EQ(sum.answers, whole.answers);
  EXPECT_EQ(sum.legal, whole.legal);
  EXPECT_NEAR(sum.distance(), whole.distance(), 1e-6);
  EXPECT_TRUE(std::isnan(RegBenchScore{}.accuracy()));
  EXPECT_TRUE(std::isnan(RegBenchScore{}.distance()));
}

TEST(RegBenchScore, RefusesLogitsOfAnotherShape) {
  const RegBenchBatch batch = make_regbench_batch(small_task(), {1, 2}, kFirst);
  EXPECT_THROW(score_regbench(batch.truth.narrow(1, 1, 2), batch), UsageError);
  EXPECT_THROW(score_regbench(batch.truth[0], batch), UsageError);
}

TEST(RegBenchFile, HoldsWhatABatchHolds) {
  const test::TemporaryFolder folder;
  const RegBench task = small_task();
  write_regbench_tensors(task, {1, 2}, 0, 4, folder / "batch.safetensors");
  const TensorFile file = TensorFile::load(folder / "batch.safetensors");
  const RegBenchBatch batch = make_regbench_batch(task, {1, 2}, kFirst);
  EXPECT_TRUE(file.tensors.at("inputs").equal(batch.inputs));
  EXPECT_TRUE(file.tensors.at("targets").equal(batch.targets));
  EXPECT_TRUE(file.tensors.at("truth").equal(batch.truth));

  std::vector<config::Json> lines;
  write_regbench_jsonl(task, {1, 2}, 2, 2, [&](std::string_view line) {
    EXPECT_EQ(line.back(), '\n');
    lines.push_back(config::parse_json(std::string(line), "line"));
  });
  EXPECT_EQ(lines, (std::vector<config::Json>{task.describe(1, 2, 2), task.describe(1, 2, 3)}));
  EXPECT_THROW(write_regbench_tensors(task, {1, 2}, 0, 0, folder / "none"), UsageError);
  EXPECT_THROW(write_regbench_tensors(task, {1, 2}, -1, 1, folder / "none"), UsageError);
}

RegBench two_letters() {
  return RegBench({.letters = 2,
                   .min_alphabet = 2,
                   .max_alphabet = 2,
                   .min_states = 3,
                   .max_states = 6,
                   .max_edges = 2,
                   .min_strings = 60,
                   .max_strings = 60,
                   .max_length = 12});
}

at::Tensor rows_of_four(const std::vector<float>& values) {
  return at::tensor(values).view({-1, 4});
}

TEST(ContextCounts, WorkedByHand) {
  const RegBench task = two_letters();
  const std::vector<int64_t> tokens = {0, 2, 0, 1, 2};  // "a|ab|"
  EXPECT_TRUE(context_counts(task, tokens, 0).equal(rows_of_four({1, 0, 0, 0, 1, 0, 0, 0, 2, 0,
                                                                  0, 0, 2, 1, 0, 0, 2, 1, 0, 0})));
  // Behind a separator stood a each time; what follows b is not known, so all letters count.
  EXPECT_TRUE(context_counts(task, tokens, 1).equal(rows_of_four({1, 0, 0, 0, 1, 0, 0, 0, 2, 0,
                                                                  0, 0, 2, 1, 0, 0, 2, 0, 0, 0})));
  // Nothing is known before the first letter.
  EXPECT_TRUE(context_counts(task, std::vector<int64_t>{2}, 1).equal(rows_of_four({1, 1, 0, 0})));
  EXPECT_EQ(context_counts(task, {}, 2).size(0), 0);
}

TEST(ContextCounts, LongerContextsTellMoreOfALongSequence) {
  const RegBench task = two_letters();
  const RegBenchScore none = score_context_counts(task, {1, 2}, 20, 0);
  const RegBenchScore three = score_context_counts(task, {1, 2}, 20, 3);
  EXPECT_EQ(none.positions, three.positions);
  EXPECT_GT(three.accuracy(), none.accuracy());
  EXPECT_LT(three.distance(), none.distance());
  EXPECT_GT(three.accuracy(), 0.9);
}

TEST(ContextCounts, RefusesContextsBelowNone) {
  EXPECT_THROW(context_counts(two_letters(), {}, -1), UsageError);
}

}  // namespace
}  // namespace tessera::task
