#pragma once

// What every language model promises beside what every sequence model does, held by one suite over
// all kinds and forms. A test program instantiates both with the forms of its room.

#include <algorithm>
#include <set>
#include <string_view>

#include "tests/model/sequence_model_suite.h"

namespace tessera::test {

class LanguageModelTest : public SequenceModelTest {
 protected:
  /// Hidden states of a sequence that is read in pieces of these lengths.
  at::Tensor read_in_pieces(const at::Tensor& all, const std::vector<int64_t>& lengths,
                            MemoryBound bound = {}) {
    return SequenceModelTest::read_in_pieces(all, lengths, language_->bounded_state(bound));
  }
};

TEST_P(LanguageModelTest, ABoundNeverReachedChangesNothing) {
  if (!GetParam().stores_pairs) GTEST_SKIP() << "stores no pairs";
  const at::Tensor all = inputs(2, 14);
  const at::Tensor whole = language_->hidden(all).detach();
  for (Eviction eviction : {Eviction::kOldest, Eviction::kLeastUsed}) {
    expect_equal(read_in_pieces(all, {14}, {14, eviction}), whole);
    expect_equal(read_in_pieces(all, {3, 1, 10}, {14, eviction}), whole);
  }
}

TEST_P(LanguageModelTest, ABoundedMemoryDoesNotDependOnThePieces) {
  if (!GetParam().stores_pairs) GTEST_SKIP() << "stores no pairs";
  const at::Tensor all = inputs(2, 14);
  for (Eviction eviction : {Eviction::kOldest, Eviction::kLeastUsed}) {
    const MemoryBound bound{4, eviction};
    const at::Tensor steps = read_in_pieces(all, std::vector<int64_t>(14, 1), bound);
    expect_equal(read_in_pieces(all, {14}, bound), steps);
    expect_equal(read_in_pieces(all, {4, 10}, bound), steps);
    expect_equal(read_in_pieces(all, {3, 1, 10}, bound), steps);
    EXPECT_GT(relative_error(steps, language_->hidden(all).detach()), 1e-3);
  }
}

/// Rounded pairs change a little what is read, and the same in any pieces.
TEST_P(LanguageModelTest, KeepsPairsInFewerBitsOrRefuses) {
  const at::Tensor all = inputs(2, 14), floats = read_in_pieces(all, {14});
  for (const auto type : {ops::WeightType::kBFloat16, ops::WeightType::kInt8}) {
    if (!GetParam().stores_pairs || std::string_view(GetParam().name) == "gpt_alibi") {
      EXPECT_THROW(language_->keep_pairs_in(type), UsageError);
      continue;
    }
    language_->keep_pairs_in(type);
    const at::Tensor steps = read_in_pieces(all, std::vector<int64_t>(14, 1));
    const double error = relative_error(steps, floats);
    EXPECT_LT(error, 0.02);
    EXPECT_GT(error, 1e-6);
    // A number halfway between two rounded ones may fall to either side: sums differ in rounding.
    EXPECT_LT(relative_error(read_in_pieces(all, {14}), steps), error / 5);
    EXPECT_LT(relative_error(read_in_pieces(all, {3, 1, 10}), steps), error / 5);
  }
  language_->keep_pairs_in(ops::WeightType::kFloat32);
  expect_equal(read_in_pieces(all, {14}), floats);
}

TEST_P(LanguageModelTest, RefusesABoundOfPairsThatItDoesNotStore) {
  if (GetParam().stores_pairs) GTEST_SKIP() << "stores pairs";
  EXPECT_THROW(language_->bounded_state({4, Eviction::kOldest}), UsageError);
  EXPECT_NO_THROW(language_->bounded_state({}));
}

TEST_P(LanguageModelTest, LearnsOneBatchByHeart) {
  model_->initialise(1);
  const at::Tensor all = inputs(2, 12), targets = inputs(2, 12, 9);
  const auto loss = [&] { return language_->loss(all, targets); };
  EXPECT_LT(loss_after_adam(model_->parameters(), loss, 0.1, 400), 0.1);
}

TEST_P(LanguageModelTest, ShapesLargerThanAnyMachineAreKnown) {
  auto huge = model_->hyper_parameters();
  huge["channels"] = huge["vocabulary"] = int64_t{1} << 28;  // 2^28 x 2^28 floats
  EXPECT_TRUE(std::ranges::any_of(parameter_shapes(model_->kind(), huge),
                                  [&](const ParameterShape& parameter) {
                                    return parameter.shape == std::vector(2, int64_t{1} << 28);
                                  }));
}

TEST_P(LanguageModelTest, EachBlockHasParametersOfItsOwn) {
  std::set<const void*> seen;
  for (const auto& parameter : model_->parameters())
    EXPECT_TRUE(seen.insert(parameter.data_ptr()).second);
}

TEST_P(LanguageModelTest, DropoutIsAFunctionOfItsSeed) {
  at::NoGradGuard no_grad;
  const at::Tensor all = inputs(2, 9);
  const at::Tensor one = language_->hidden(all, 5);
  EXPECT_TRUE(one.equal(language_->hidden(all, 5)));
  EXPECT_FALSE(one.equal(language_->hidden(all, 6)));
  EXPECT_FALSE(one.equal(language_->hidden(all)));
}

TEST_P(LanguageModelTest, LossesAreThoseOfTheLogits) {
  at::NoGradGuard no_grad;
  const at::Tensor all = inputs(2, 9), hidden = whole(all);
  at::Tensor targets = inputs(2, 9, 4);
  targets.narrow(1, 3, 2).fill_(-1);
  const at::Tensor losses =
      at::cross_entropy_loss(language_->logits(hidden).flatten(0, 1), targets.flatten(), {}, 0, -1);
  const at::Tensor by_position = language_->loss_per_position(all, targets);
  expect_equal(by_position.flatten(), losses);
  EXPECT_TRUE(language_->losses_of(hidden, targets).equal(by_position));
  EXPECT_NEAR(language_->loss(all, targets).item<double>(), losses.sum().item<double>() / 14, 1e-5);
}

TEST_P(LanguageModelTest, RefusesTargetsOfOtherShapesAndTokens) {
  EXPECT_THROW(language_->loss(inputs(2, 3), inputs(2, 4)), UsageError);
  EXPECT_THROW(language_->loss(inputs(2, 3), inputs(2, 3) + 13), UsageError);
}

TEST_P(LanguageModelTest, RefusesWhatGoesPastItsLastPosition) {
  if (language_->reads_past_window()) GTEST_SKIP() << "reads past its window";
  EXPECT_THROW(language_->hidden(inputs(1, 17)), UsageError);
  SequenceState state = model_->empty_state();
  const at::Tensor x = inputs(2, 9);
  go_on(x.narrow(1, 0, 6), state);
  EXPECT_THROW(model_->read(inputs(2, 11), std::move(state)), UsageError);
  expect_equal(go_on(x.narrow(1, 6, 3), state), whole(x).narrow(1, 6, 3));
}

TEST_P(LanguageModelTest, ChecksIdsOnTheCpuBeforeTheyAreMovedToItsDevice) {
  const auto made = model_kind(model_->kind()).make(model_->hyper_parameters(), {}, at::kMeta);
  auto& elsewhere = dynamic_cast<LanguageModel&>(*made);
  const at::Tensor all = inputs(2, 9), targets = inputs(2, 9, 4);
  EXPECT_THROW(elsewhere.hidden(all + 13), UsageError);
  EXPECT_THROW(elsewhere.loss(all + 13, targets), UsageError);
  EXPECT_THROW(elsewhere.loss(all, targets + 13), UsageError);
}

}  // namespace tessera::test
