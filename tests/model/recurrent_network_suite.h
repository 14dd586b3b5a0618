#pragma once

// What every recurrent network over vectors promises, held by one suite over all of them. A test
// program instantiates it with the networks of its room.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/model/model_kind.h"
#include "tests/model/model_checks.h"
#include "tests/support/drawn.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/other_device.h"
#include "tests/support/temporary_folder.h"

namespace tessera::test {

struct NetworkForm {
  const char* name;
  const char* kind;
  const char* hyper_parameters;
  bool grows = false;  ///< whether its state grows with what it has read
};

inline constexpr int64_t kInputs = 6, kOutputs = 4;
inline constexpr const char* kWidths = R"("inputs": 6, "outputs": 4)";

inline constexpr double kDoubleTolerance = 1e-10;  // other order of the same sums, in double

class RecurrentNetworkTest : public testing::TestWithParam<NetworkForm> {
 protected:
  void SetUp() override {
    const NetworkForm& form = GetParam();
    model_ = model_kind(form.kind).make(
        config::parse_json(fmt::format("{{{}{}}}", kWidths, form.hyper_parameters), "test"), 1,
        at::kCPU);
  }

  /// In double, with every parameter away from its first value.
  void perturb() {
    model_->to(at::kDouble);
    at::NoGradGuard no_grad;
    for (auto& parameter : model_->parameters()) parameter.add_(drawn(parameter.sizes(), 3, 0.2));
  }

  static at::Tensor inputs(int64_t B, int64_t T, int64_t seed = 1) {
    return drawn({B, T, kInputs}, seed);
  }

  /// The same inputs, but for those of one step.
  static at::Tensor with_other_step(const at::Tensor& x, int64_t step) {
    at::Tensor other = x.clone();
    other.select(1, step).add_(1);
    return other;
  }

  /// Outputs of the next steps; `state` becomes the one after them.
  at::Tensor go_on(const at::Tensor& x, SequenceState& state) {
    return test::go_on(*model_, x, state);
  }

  at::Tensor whole(const at::Tensor& x) {
    at::NoGradGuard no_grad;
    return model_->forward(x);
  }

  void expect_equal(const at::Tensor& actual, const at::Tensor& expected) {
    ASSERT_EQ(actual.sizes(), expected.sizes());
    EXPECT_LT(relative_error(actual, expected), kDoubleTolerance);
  }

  std::shared_ptr<SequenceModel> model_;
};

TEST_P(RecurrentNetworkTest, ReadingInAnyPiecesGivesTheWhole) {
  perturb();
  const at::Tensor x = inputs(2, 11), y = whole(x);
  for (const std::vector<int64_t>& lengths :
       {std::vector<int64_t>(11, 1), {11}, {1, 10}, {0, 5, 0, 1, 3, 2, 0}, {10, 1}})
    expect_equal(read_in_pieces(*model_, x, lengths, model_->empty_state()), y);
}

TEST_P(RecurrentNetworkTest, OutputsAreGivenFromTheStepThatWasAskedFor) {
  perturb();
  const at::Tensor x = inputs(2, 6), y = whole(x);
  for (int64_t first : {0, 2, 5, 6}) {
    expect_equal(model_->forward(x, {}, first).detach(), y.slice(1, first));
    SequenceOutput read = model_->read(x, model_->empty_state(), first);
    expect_equal(read.outputs, y.slice(1, first));
    expect_equal(go_on(inputs(2, 3, 2), read.state),
                 whole(at::cat({x, inputs(2, 3, 2)}, 1)).slice(1, 6));
  }
}

TEST_P(RecurrentNetworkTest, ForksAndChosenRowsAreIndependent) {
  perturb();
  const at::Tensor x = inputs(3, 6), more = inputs(3, 4, 2), other = inputs(3, 4, 3);
  SequenceState state = model_->empty_state();
  go_on(x, state);
  SequenceState fork = state, chosen = state.select({2, 0, 2});
  const SequenceState one = state.select({0}), two = state.select({1, 2});
  go_on(other, state);
  const at::Tensor expected = whole(at::cat({x, more}, 1)).slice(1, 6);
  expect_equal(go_on(more, fork), expected);
  const at::Tensor rows = at::tensor({2, 0, 2}, at::kLong);
  expect_equal(go_on(more.index_select(0, rows), chosen), expected.index_select(0, rows));
  SequenceState stacked = SequenceState::stack({&one, &two});
  expect_equal(go_on(more, stacked), expected);
  expect_equal(go_on(more, state), whole(at::cat({x, other, more}, 1)).slice(1, 10));
}

TEST_P(RecurrentNetworkTest, StatesOfDifferentLengthsStackUnlessTheyGrow) {
  perturb();
  SequenceState shorter = model_->empty_state(), longer = model_->empty_state();
  go_on(inputs(1, 2), shorter);
  go_on(inputs(1, 5), longer);
  if (GetParam().grows)
    EXPECT_THROW(SequenceState::stack({&shorter, &longer}), UsageError);
  else
    EXPECT_EQ(SequenceState::stack({&shorter, &longer}).rows(), 2);
}

TEST_P(RecurrentNetworkTest, AStateSurvivesAFile) {
  const at::Tensor x = inputs(2, 5).to(at::kFloat), more = inputs(2, 3, 2).to(at::kFloat);
  SequenceState state = model_->empty_state();
  go_on(x, state);
  TensorFile file = through_a_file(state);
  SequenceState restored = model_->state_from(file, model_->empty_state());
  EXPECT_TRUE(go_on(more, restored).equal(go_on(more, state)));
  const auto last = std::prev(file.tensors.end());
  std::vector<at::Tensor> refused = {last->second.flatten()};
  if (file.tensors.size() > 1) refused.push_back(last->second.narrow(0, 0, 1));  // one sequence
  for (const at::Tensor& wrong : refused) {
    last->second = wrong;
    EXPECT_THROW(model_->state_from(file, model_->empty_state()), DataError);
  }
  file.tensors.erase(last);
  EXPECT_THROW(model_->state_from(file, model_->empty_state()), DataError);
}

TEST_P(RecurrentNetworkTest, ParametersSurviveAFile) {
  const auto loaded = through_a_file(*model_);
  EXPECT_EQ(loaded->hyper_parameters(), model_->hyper_parameters());
  at::NoGradGuard no_grad;
  const at::Tensor x = inputs(2, 7).to(at::kFloat);
  EXPECT_TRUE(loaded->forward(x).equal(model_->forward(x)));
}

TEST_P(RecurrentNetworkTest, TheFutureDoesNotReachThePast) {
  perturb();
  const at::Tensor x = inputs(2, 8), before = whole(x);
  for (int64_t changed : {0, 1, 5, 7}) {
    const at::Tensor after = whole(with_other_step(x, changed));
    EXPECT_TRUE(after.narrow(1, 0, changed).equal(before.narrow(1, 0, changed))) << changed;
    EXPECT_FALSE(after.select(1, 7).equal(before.select(1, 7))) << changed;
  }
}

TEST_P(RecurrentNetworkTest, SequencesSideBySideDoNotMeet) {
  perturb();
  const at::Tensor x = inputs(3, 6), y = whole(x);
  for (int64_t b = 0; b < 3; ++b) expect_equal(whole(x.narrow(0, b, 1)), y.narrow(0, b, 1));
}

TEST_P(RecurrentNetworkTest, EveryParameterGetsAGradientThroughAllSteps) {
  perturb();
  const at::Tensor x = inputs(2, 7).requires_grad_();
  model_->forward(x, {}, 6).square().sum().backward();
  for (const auto& item : model_->named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_GT(item.value().grad().abs().max().item<double>(), 0) << item.key();
    EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();
  }
  EXPECT_GT(x.grad().select(1, 0).abs().max().item<double>(), 0);
}

TEST_P(RecurrentNetworkTest, EqualSeedsGiveEqualParameters) {
  expect_parameters_of_seeds(*model_);
}

TEST_P(RecurrentNetworkTest, ShapesAreKnownWithoutAllocatingParameters) {
  expect_shapes_are_known(*model_);
  EXPECT_FALSE(model_kind(model_->kind()).language_model);
}

TEST_P(RecurrentNetworkTest, ReadsEmptyAndSingleSequences) {
  const auto sizes_of = [&](int64_t B, int64_t T) {
    return model_->forward(at::zeros({B, T, kInputs})).sizes().vec();
  };
  EXPECT_EQ(sizes_of(2, 0), (std::vector<int64_t>{2, 0, kOutputs}));
  EXPECT_EQ(sizes_of(0, 3), (std::vector<int64_t>{0, 3, kOutputs}));
  EXPECT_EQ(sizes_of(1, 1), (std::vector<int64_t>{1, 1, kOutputs}));
  EXPECT_EQ(model_->read(at::zeros({2, 0, kInputs}), model_->empty_state()).state.rows(), 0);
}

TEST_P(RecurrentNetworkTest, RefusedInputsLeaveTheStateAsItWas) {
  perturb();
  const at::Tensor x = inputs(2, 6), more = inputs(2, 3, 2);
  SequenceState state = model_->empty_state();
  go_on(x, state);
  for (const at::Tensor& wrong : {more.narrow(2, 0, 4), more[0], more.to(at::kFloat),
                                  more.to(at::kLong), inputs(3, 2), inputs(1, 2)})
    EXPECT_THROW(model_->read(wrong, std::move(state)), UsageError);
  for (int64_t first : {-1, 4})
    EXPECT_THROW(model_->read(more, std::move(state), first), UsageError);
  EXPECT_THROW(model_->step(more, std::move(state)), UsageError);
  expect_equal(go_on(more, state), whole(at::cat({x, more}, 1)).slice(1, 6));
  for (const at::Tensor& wrong : {x.narrow(2, 0, 4), x[0], x.to(at::kFloat)})
    EXPECT_THROW(model_->forward(wrong), UsageError);
  EXPECT_THROW(model_->forward(x, {}, 7), UsageError);
  EXPECT_THROW(model_->forward(x, {}, -1), UsageError);
}

/// Every whole number of the configuration is a size or a count; one that may be 0 is 0 here.
TEST_P(RecurrentNetworkTest, RefusesImpossibleSizes) {
  const config::Json fields = model_->hyper_parameters();
  for (const auto& [name, value] : fields.items()) {
    if (!value.is_number_integer()) continue;
    for (int64_t wrong : {int64_t{0}, int64_t{-1}, INT64_MAX}) {
      if (value == wrong) continue;
      config::Json changed = fields;
      changed[name] = wrong;
      EXPECT_THAT(
          message_of<UsageError>([&] { model_kind(model_->kind()).make(changed, {}, at::kMeta); }),
          testing::HasSubstr(fmt::format("model.{} is {}", name, wrong)));
    }
  }
}

TEST_P(RecurrentNetworkTest, AnotherDeviceGivesTheSame) {
  perturb();
  const at::Tensor x = inputs(2, 6, 4);
  const auto results = [&] {
    std::vector<at::Tensor> found =
        torch::autograd::grad({model_->forward(x).square().sum()}, model_->parameters());
    SequenceState state =
        model_->read(x.narrow(1, 0, 4), model_->empty_state()).state.select({1, 0});
    found.push_back(model_->read(x.narrow(1, 4, 2), std::move(state)).outputs);
    return found;
  };
  const auto here = results();
  model_->to(other_device());
  const auto there = results();
  for (size_t i = 0; i < here.size(); ++i)
    EXPECT_LT(relative_error(there[i].cpu(), here[i]), kDoubleTolerance) << i;
}

}  // namespace tessera::test
