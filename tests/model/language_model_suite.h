#pragma once

// What every language model promises, held by one suite over all kinds and forms. A test program
// instantiates it with the forms of its room.

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tessera/base/error.h"
#include "tessera/model/language_model.h"
#include "tessera/model/model_kind.h"
#include "tests/model/model_checks.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/other_device.h"

namespace tessera::test {

struct LanguageModelForm {
  const char* name;
  const char* kind;
  const char* hyper_parameters;
  bool stores_pairs = true;
};

inline constexpr const char* kSizes =
    R"("vocabulary": 13, "window": 16, "layers": 2, "channels": 16, "dropout": 0.2)";

inline constexpr double kStreamingTolerance = 1e-5;  // other order of the same float sums

class LanguageModelTest : public testing::TestWithParam<LanguageModelForm> {
 protected:
  void SetUp() override {
    const LanguageModelForm& form = GetParam();
    model_ = make_language_model(
        form.kind,
        config::parse_json(fmt::format("{{{}{}}}", kSizes, form.hyper_parameters), "test"));
    // Every scalar away from its first value, larger weights than at the start.
    at::NoGradGuard no_grad;
    auto generator = at::make_generator<at::CPUGeneratorImpl>(3);
    for (auto& parameter : model_->parameters())
      parameter.add_(at::empty_like(parameter).normal_(0, 0.1, generator));
    long_ = model_->reads_past_window() ? 3 * model_->window() : model_->window();
  }

  at::Tensor tokens(int64_t batch, int64_t length, int64_t seed = 1) const {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    return at::randint(0, model_->vocabulary(), {batch, length}, generator,
                       at::TensorOptions(at::kLong));
  }

  /// Hidden states of these tokens; `state` becomes the one after them.
  at::Tensor go_on(const at::Tensor& tokens, SequenceState& state) {
    return test::go_on(*model_, tokens, state);
  }

  /// Hidden states of a sequence that is read in pieces of these lengths.
  at::Tensor read_in_pieces(const at::Tensor& all, const std::vector<int64_t>& lengths,
                            MemoryBound bound = {}) {
    return test::read_in_pieces(*model_, all, lengths, model_->bounded_state(bound));
  }

  void expect_equal(const at::Tensor& actual, const at::Tensor& expected) {
    EXPECT_LT(relative_error(actual, expected), kStreamingTolerance);
  }

  std::shared_ptr<LanguageModel> model_;
  int64_t long_ = 0;
};

TEST_P(LanguageModelTest, ReadingInAnyPiecesGivesTheWhole) {
  at::NoGradGuard no_grad;
  const at::Tensor all = tokens(2, long_);
  const at::Tensor whole = model_->hidden(all);
  for (const std::vector<int64_t>& lengths : {std::vector<int64_t>(long_, 1),
                                              {long_},
                                              {1, long_ - 1},
                                              {0, 5, 0, 1, 3, long_ - 9, 0},
                                              {long_ - 1, 1}})
    expect_equal(read_in_pieces(all, lengths), whole);
}

TEST_P(LanguageModelTest, SequencesOfDifferentLengthsReadOnTogether) {
  const std::vector<int64_t> lengths = {1, 7, 4};
  std::vector<at::Tensor> sequences;
  std::vector<SequenceState> states;
  for (size_t i = 0; i < lengths.size(); ++i) {
    sequences.push_back(tokens(1, lengths[i] + 5, 10 + i));
    states.push_back(model_->empty_state());
    go_on(sequences[i].narrow(1, 0, lengths[i]), states[i]);
  }
  SequenceState all = SequenceState::stack({&states[0], &states[1], &states[2]});
  EXPECT_EQ(all.rows(), 3);
  for (int64_t step = 0; step < 5; ++step) {
    std::vector<at::Tensor> next;
    for (size_t i = 0; i < lengths.size(); ++i)
      next.push_back(sequences[i].narrow(1, lengths[i] + step, 1));
    const at::Tensor hidden = go_on(at::cat(next), all);
    for (size_t i = 0; i < lengths.size(); ++i)
      expect_equal(hidden[i], model_->hidden(sequences[i].narrow(1, 0, lengths[i] + step + 1))
                                  .detach()[0]
                                  .narrow(0, lengths[i] + step, 1));
  }
}

TEST_P(LanguageModelTest, ForksAndChosenRowsAreIndependent) {
  const at::Tensor all = tokens(3, 6), more = tokens(3, 4, 2), other = tokens(3, 4, 3);
  SequenceState state = model_->empty_state();
  go_on(all, state);
  SequenceState fork = state, chosen = state.select({2, 0, 2});
  go_on(other, state);
  expect_equal(go_on(more, fork), model_->hidden(at::cat({all, more}, 1)).detach().narrow(1, 6, 4));
  const at::Tensor rows = at::tensor({2, 0, 2}, at::kLong);
  expect_equal(
      go_on(more, chosen),
      model_->hidden(at::cat({all.index_select(0, rows), more}, 1)).detach().narrow(1, 6, 4));
  expect_equal(go_on(more, state),
               model_->hidden(at::cat({all, other, more}, 1)).detach().narrow(1, 10, 4));
}

TEST_P(LanguageModelTest, AStepIsAReadOfOneToken) {
  const at::Tensor all = tokens(2, 5);
  SequenceState state = model_->empty_state();
  go_on(all, state);
  SequenceState fork = state;
  const at::Tensor next = tokens(2, 1, 2);
  const auto [outputs, after] = model_->step(next.select(1, 0), std::move(state));
  EXPECT_TRUE(outputs.equal(go_on(next, fork).select(1, 0)));
}

TEST_P(LanguageModelTest, OutputsAreGivenFromTheStepThatWasAskedFor) {
  at::NoGradGuard no_grad;
  const at::Tensor all = tokens(2, 6);
  const at::Tensor whole = model_->forward(all);
  for (int64_t first : {0, 2, 5}) {
    expect_equal(model_->forward(all, {}, first), whole.slice(1, first));
    expect_equal(model_->read(all, model_->empty_state(), first).outputs, whole.slice(1, first));
  }
  const std::vector<int64_t> none = {2, 0, 16};
  EXPECT_EQ(model_->forward(all, {}, 6).sizes(), none);
  EXPECT_EQ(model_->read(all, model_->empty_state(), 6).outputs.sizes(), none);
  for (int64_t first : {-1, 7}) {
    EXPECT_THROW(model_->forward(all, {}, first), UsageError);
    EXPECT_THROW(model_->read(all, model_->empty_state(), first), UsageError);
  }
}

TEST_P(LanguageModelTest, AStateIsWrittenAndRestored) {
  const at::Tensor all = tokens(2, 5), more = tokens(2, 3, 2);
  SequenceState state = model_->empty_state();
  go_on(all, state);
  TensorFile file = through_a_file(state);
  SequenceState restored = model_->state_from(file, model_->empty_state());
  EXPECT_TRUE(go_on(more, restored).equal(go_on(more, state)));
  file.tensors.erase(file.tensors.begin());
  EXPECT_THROW(model_->state_from(file, model_->empty_state()), DataError);
}

TEST_P(LanguageModelTest, ABoundNeverReachedChangesNothing) {
  if (!GetParam().stores_pairs) GTEST_SKIP() << "stores no pairs";
  const at::Tensor all = tokens(2, 14);
  const at::Tensor whole = model_->hidden(all).detach();
  for (Eviction eviction : {Eviction::kOldest, Eviction::kLeastUsed}) {
    expect_equal(read_in_pieces(all, {14}, {14, eviction}), whole);
    expect_equal(read_in_pieces(all, {3, 1, 10}, {14, eviction}), whole);
  }
}

TEST_P(LanguageModelTest, ABoundedMemoryDoesNotDependOnThePieces) {
  if (!GetParam().stores_pairs) GTEST_SKIP() << "stores no pairs";
  const at::Tensor all = tokens(2, 14);
  for (Eviction eviction : {Eviction::kOldest, Eviction::kLeastUsed}) {
    const MemoryBound bound{4, eviction};
    const at::Tensor steps = read_in_pieces(all, std::vector<int64_t>(14, 1), bound);
    expect_equal(read_in_pieces(all, {14}, bound), steps);
    expect_equal(read_in_pieces(all, {4, 10}, bound), steps);
    expect_equal(read_in_pieces(all, {3, 1, 10}, bound), steps);
    EXPECT_GT(relative_error(steps, model_->hidden(all).detach()), 1e-3);
  }
}

/// Rounded pairs change a little what is read, and the same in any pieces.
TEST_P(LanguageModelTest, KeepsPairsInFewerBitsOrRefuses) {
  const at::Tensor all = tokens(2, 14), floats = read_in_pieces(all, {14});
  for (const auto type : {ops::WeightType::kBFloat16, ops::WeightType::kInt8}) {
    if (!GetParam().stores_pairs || std::string_view(GetParam().name) == "gpt_alibi") {
      EXPECT_THROW(model_->keep_pairs_in(type), UsageError);
      continue;
    }
    model_->keep_pairs_in(type);
    const at::Tensor steps = read_in_pieces(all, std::vector<int64_t>(14, 1));
    const double error = relative_error(steps, floats);
    EXPECT_LT(error, 0.02);
    EXPECT_GT(error, 1e-6);
    // A number halfway between two rounded ones may fall to either side: sums differ in rounding.
    EXPECT_LT(relative_error(read_in_pieces(all, {14}), steps), error / 5);
    EXPECT_LT(relative_error(read_in_pieces(all, {3, 1, 10}), steps), error / 5);
  }
  model_->keep_pairs_in(ops::WeightType::kFloat32);
  expect_equal(read_in_pieces(all, {14}), floats);
}

TEST_P(LanguageModelTest, RefusesABoundOfPairsThatItDoesNotStore) {
  if (GetParam().stores_pairs) GTEST_SKIP() << "stores pairs";
  EXPECT_THROW(model_->bounded_state({4, Eviction::kOldest}), UsageError);
  EXPECT_NO_THROW(model_->bounded_state({}));
}

TEST_P(LanguageModelTest, TheFutureDoesNotReachThePast) {
  at::NoGradGuard no_grad;
  const at::Tensor all = tokens(1, 12);
  const at::Tensor before = model_->hidden(all);
  for (int64_t changed = 0; changed < 12; ++changed) {
    at::Tensor other = all.clone();
    other.narrow(1, changed, 1).add_(1).remainder_(model_->vocabulary());
    const at::Tensor after = model_->hidden(other);
    EXPECT_TRUE(after.narrow(1, 0, changed).equal(before.narrow(1, 0, changed))) << changed;
    EXPECT_FALSE(after.select(1, changed).equal(before.select(1, changed))) << changed;
  }
}

TEST_P(LanguageModelTest, LearnsOneBatchByHeart) {
  model_->initialise(1);
  const at::Tensor inputs = tokens(2, 12), targets = tokens(2, 12, 9);
  const auto loss = [&] { return model_->loss(inputs, targets); };
  EXPECT_LT(loss_after_adam(model_->parameters(), loss, 0.1, 400), 0.1);
}

TEST_P(LanguageModelTest, EqualSeedsGiveEqualParameters) {
  expect_parameters_of_seeds(*model_);
}

TEST_P(LanguageModelTest, ShapesAreKnownWithoutAllocatingParameters) {
  expect_shapes_are_known(*model_);
  // 2^28 x 2^28 floats, which no machine holds.
  auto huge = model_->hyper_parameters();
  huge["channels"] = huge["vocabulary"] = int64_t{1} << 28;
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
  const at::Tensor all = tokens(2, 9);
  const at::Tensor one = model_->hidden(all, 5);
  EXPECT_TRUE(one.equal(model_->hidden(all, 5)));
  EXPECT_FALSE(one.equal(model_->hidden(all, 6)));
  EXPECT_FALSE(one.equal(model_->hidden(all)));
}

TEST_P(LanguageModelTest, LossesAreThoseOfTheLogits) {
  at::NoGradGuard no_grad;
  const at::Tensor inputs = tokens(2, 9);
  at::Tensor targets = tokens(2, 9, 4);
  targets.narrow(1, 3, 2).fill_(-1);
  const at::Tensor losses = at::cross_entropy_loss(
      model_->logits(model_->hidden(inputs)).flatten(0, 1), targets.flatten(), {}, 0, -1);
  const at::Tensor by_position = model_->loss_per_position(inputs, targets);
  expect_equal(by_position.flatten(), losses);
  EXPECT_TRUE(model_->losses_of(model_->hidden(inputs), targets).equal(by_position));
  EXPECT_NEAR(model_->loss(inputs, targets).item<double>(), losses.sum().item<double>() / 14, 1e-5);
}

TEST_P(LanguageModelTest, RefusedInputsLeaveTheStateAsItWas) {
  const at::Tensor all = tokens(2, 6), more = tokens(2, 3, 2);
  SequenceState state = model_->empty_state();
  go_on(all, state);
  at::Tensor negative = more.clone();
  negative[0][1] = -1;
  std::vector<at::Tensor> refused = {more + 13, negative,     more.to(at::kFloat),
                                     more[0],   tokens(3, 2), tokens(1, 2)};
  if (!model_->reads_past_window()) refused.push_back(tokens(2, 11));
  for (const auto& wrong : refused) EXPECT_THROW(model_->read(wrong, std::move(state)), UsageError);
  EXPECT_THROW(model_->read(more, std::move(state), 4), UsageError);
  expect_equal(go_on(more, state),
               model_->hidden(at::cat({all, more}, 1)).detach().narrow(1, 6, 3));
}

TEST_P(LanguageModelTest, RefusesWhatItCannotRead) {
  EXPECT_THROW(model_->hidden(tokens(2, 3) + 13), UsageError);
  EXPECT_THROW(model_->hidden(tokens(2, 3).to(at::kInt)), UsageError);
  EXPECT_THROW(model_->loss(tokens(2, 3), tokens(2, 4)), UsageError);
  EXPECT_THROW(model_->loss(tokens(2, 3), tokens(2, 3) + 13), UsageError);
  if (!model_->reads_past_window()) {
    EXPECT_THROW(model_->hidden(tokens(1, 17)), UsageError);
  }
  EXPECT_THROW(model_->empty_state().select({0}), UsageError);
  EXPECT_THROW(model_->empty_state().tensors(), UsageError);
}

TEST_P(LanguageModelTest, ChecksIdsOnTheCpuBeforeTheyAreMovedToItsDevice) {
  const auto made = model_kind(model_->kind()).make(model_->hyper_parameters(), {}, at::kMeta);
  auto& elsewhere = dynamic_cast<LanguageModel&>(*made);
  const at::Tensor inputs = tokens(2, 9), targets = tokens(2, 9, 4);
  EXPECT_THROW(elsewhere.hidden(inputs + 13), UsageError);
  EXPECT_THROW(elsewhere.loss(inputs + 13, targets), UsageError);
  EXPECT_THROW(elsewhere.loss(inputs, targets + 13), UsageError);
}

/// Losses, gradients, sequences that are read in pieces, chosen and joined, and drawn parameters.
TEST_P(LanguageModelTest, AnotherDeviceGivesTheSame) {
  const at::Tensor all = tokens(2, 9), targets = tokens(2, 9, 4), more = tokens(3, 4, 2);
  const auto results = [&] {
    std::vector<at::Tensor> gradients;  // [all parameters]
    for (const auto& gradient :
         torch::autograd::grad({model_->loss(all, targets, 5)}, model_->parameters(), {}, false,
                               false, /*allow_unused=*/true))
      if (gradient.defined()) gradients.push_back(gradient.flatten());
    SequenceState state = model_->empty_state();
    std::vector<at::Tensor> found = {at::cat(gradients), model_->loss_per_position(all, targets),
                                     go_on(all.narrow(1, 0, 5), state),
                                     go_on(all.narrow(1, 5, 4), state)};
    const SequenceState chosen = state.select({1});
    SequenceState joined = SequenceState::stack({&state, &chosen});
    found.push_back(go_on(more, joined));
    found.push_back(go_on(more.narrow(1, 0, 1), joined));
    return found;
  };
  const auto here = results();
  model_->to(other_device());
  const auto there = results();
  for (size_t i = 0; i < here.size(); ++i) {
    EXPECT_EQ(there[i].device(), other_device());
    expect_equal(there[i].cpu(), here[i]);
  }
  const auto drawn = [&] {
    model_->initialise(3);
    std::vector<at::Tensor> parameters;
    for (const auto& parameter : model_->parameters())
      parameters.push_back(parameter.detach().cpu().flatten());
    return at::cat(parameters);
  };
  const at::Tensor drawn_there = drawn();
  model_->to(at::kCPU);
  expect_equal(drawn_there, drawn());
}

TEST_P(LanguageModelTest, EmptySequencesGiveEmptyStates) {
  EXPECT_EQ(model_->hidden(tokens(2, 0)).sizes(), (std::vector<int64_t>{2, 0, 16}));
}

}  // namespace tessera::test
