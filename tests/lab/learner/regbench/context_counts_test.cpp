#include "lab/learner/regbench/regbench_batch.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tessera/base/error.h"

namespace tessera::task {
namespace {

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
