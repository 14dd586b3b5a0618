#pragma once

// What every sequence model promises, held by one suite over all kinds and forms: language models
// read token ids in float, the others vectors in double. One file of a test program includes this
// and instantiates the suite with the forms of its room.

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/model/language_model.h"
#include "tessera/model/model_kind.h"
#include "tests/model/model_checks.h"
#include "tests/support/drawn.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/other_device.h"
#include "tests/support/shake.h"

namespace tessera::test {

struct ModelForm {
  const char* name;
  const char* kind;
  const char* hyper_parameters;  ///< beside kSizes or kWidths
  bool stores_pairs = true;      ///< of a language model: whether a bound of pairs is for it
  bool grows = false;  ///< whether a state has a row for each step, so that lengths do not mix
};

inline std::string name_of(const testing::TestParamInfo<ModelForm>& info) {
  return info.param.name;
}

inline constexpr const char* kSizes =  // of language models
    R"("vocabulary": 13, "window": 16, "layers": 2, "channels": 16, "dropout": 0.2)";
inline constexpr const char* kWidths = R"("inputs": 6, "outputs": 4)";  // of the others
inline constexpr int64_t kChannels = 16, kInputs = 6, kOutputs = 4;

// Other orders of the same sums.
inline constexpr double kFloatTolerance = 1e-5, kDoubleTolerance = 1e-10;

class SequenceModelTest : public testing::TestWithParam<ModelForm> {
 protected:
  /// A model whose every parameter is away from its first value.
  void SetUp() override {
    const ModelForm& form = GetParam();
    const ModelKind& kind = model_kind(form.kind);
    const std::string fields =
        fmt::format("{{{}{}}}", kind.language_model ? kSizes : kWidths, form.hyper_parameters);
    model_ = kind.make(config::parse_json(fields, "test"), kind.language_model ? 0 : 1, at::kCPU);
    language_ = dynamic_cast<LanguageModel*>(model_.get());
    if (!language_) model_->to(at::kDouble);
    shake(*model_, language_ ? 0.1 : 0.2, 3);
  }

  /// Token ids [B, T], or vectors [B, T, kInputs] of the model's type.
  at::Tensor inputs(int64_t B, int64_t T, int64_t seed = 1) const {
    if (!language_)
      return drawn({B, T, kInputs}, seed).to(model_->parameters().front().scalar_type());
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    return at::randint(0, language_->vocabulary(), {B, T}, generator, at::TensorOptions(at::kLong));
  }

  /// The same inputs, but for those of one step.
  at::Tensor with_other_step(const at::Tensor& x, int64_t step) const {
    at::Tensor other = x.clone(), changed = other.select(1, step).add_(1);
    if (language_) changed.remainder_(language_->vocabulary());
    return other;
  }

  /// Inputs made of [2, 3] that the model cannot read.
  std::vector<at::Tensor> wrong_inputs(const at::Tensor& x) const {
    if (!language_) return {x.narrow(2, 0, 4), x[0], x.to(at::kFloat), x.to(at::kLong)};
    at::Tensor negative = x.clone();
    negative[0][1] = -1;
    return {x + 13, negative, x[0], x.to(at::kFloat), x.to(at::kInt)};
  }

  /// Outputs of whole sequences.
  at::Tensor whole(const at::Tensor& x) {
    at::NoGradGuard no_grad;
    return model_->forward(x);
  }

  /// Outputs of the next steps; `state` becomes the one after them.
  at::Tensor go_on(const at::Tensor& x, SequenceState& state) {
    SequenceOutput read = model_->read(x, std::move(state));
    state = std::move(read.state);
    return read.outputs;
  }

  /// Outputs of all inputs, read from `state` on in pieces of these lengths.
  at::Tensor read_in_pieces(const at::Tensor& all, const std::vector<int64_t>& lengths,
                            SequenceState state) {
    std::vector<at::Tensor> pieces;
    int64_t first = 0;
    for (const int64_t length : lengths) {
      pieces.push_back(go_on(all.narrow(1, first, length), state));
      first += length;
    }
    EXPECT_EQ(first, all.size(1));
    return at::cat(pieces, 1);
  }

  static void expect_equal(const at::Tensor& actual, const at::Tensor& expected) {
    ASSERT_EQ(actual.sizes(), expected.sizes());
    EXPECT_LT(relative_error(actual, expected),
              expected.scalar_type() == at::kDouble ? kDoubleTolerance : kFloatTolerance);
  }

  std::shared_ptr<SequenceModel> model_;
  LanguageModel* language_ = nullptr;  // the same, where it is one
};

TEST_P(SequenceModelTest, ReadingInAnyPiecesGivesTheWhole) {
  const int64_t window = language_ ? language_->window() : 0;
  const int64_t T = !language_ ? 11 : language_->reads_past_window() ? 3 * window : window;
  const at::Tensor x = inputs(2, T), y = whole(x);
  for (const std::vector<int64_t>& lengths :
       {std::vector<int64_t>(T, 1), {T}, {1, T - 1}, {0, 5, 0, 1, 3, T - 9, 0}, {T - 1, 1}})
    expect_equal(read_in_pieces(x, lengths, model_->empty_state()), y);
}

TEST_P(SequenceModelTest, AStepIsAReadOfOneInput) {
  SequenceState state = model_->empty_state();
  go_on(inputs(2, 5), state);
  SequenceState fork = state;
  const at::Tensor next = inputs(2, 1, 2);
  const auto [outputs, after] = model_->step(next.select(1, 0), std::move(state));
  EXPECT_TRUE(outputs.equal(go_on(next, fork).select(1, 0)));
}

TEST_P(SequenceModelTest, OutputsAreGivenFromTheStepThatWasAskedFor) {
  const at::Tensor x = inputs(2, 6), more = inputs(2, 3, 2), y = whole(x);
  for (const int64_t first : {0, 2, 5, 6}) {
    expect_equal(model_->forward(x, {}, first).detach(), y.slice(1, first));
    SequenceOutput read = model_->read(x, model_->empty_state(), first);
    expect_equal(read.outputs, y.slice(1, first));
    expect_equal(go_on(more, read.state), whole(at::cat({x, more}, 1)).slice(1, 6));
  }
  for (const int64_t first : {-1, 7}) {
    EXPECT_THROW(model_->forward(x, {}, first), UsageError);
    EXPECT_THROW(model_->read(x, model_->empty_state(), first), UsageError);
  }
}

TEST_P(SequenceModelTest, ForksAndChosenRowsAreIndependent) {
  const at::Tensor x = inputs(3, 6), more = inputs(3, 4, 2), other = inputs(3, 4, 3);
  SequenceState state = model_->empty_state();
  go_on(x, state);
  SequenceState fork = state, chosen = state.select({2, 0, 2});
  const SequenceState one = state.select({0}), two = state.select({1, 2});
  go_on(other, state);
  const at::Tensor expected = whole(at::cat({x, more}, 1)).slice(1, 6);
  expect_equal(go_on(more, fork), expected);
  const at::Tensor rows = at::tensor({2, 0, 2}, at::kLong);
  expect_equal(go_on(more, chosen), whole(at::cat({x.index_select(0, rows), more}, 1)).slice(1, 6));
  SequenceState stacked = SequenceState::stack({&one, &two});
  expect_equal(go_on(more, stacked), expected);
  expect_equal(go_on(more, state), whole(at::cat({x, other, more}, 1)).slice(1, 10));
}

TEST_P(SequenceModelTest, SequencesOfDifferentLengthsReadOnTogetherUnlessStatesGrow) {
  const std::vector<int64_t> lengths = {1, 7, 4};
  std::vector<at::Tensor> sequences;
  std::vector<SequenceState> states;
  for (size_t i = 0; i < lengths.size(); ++i) {
    sequences.push_back(inputs(1, lengths[i] + 5, 10 + i));
    states.push_back(model_->empty_state());
    go_on(sequences[i].narrow(1, 0, lengths[i]), states[i]);
  }
  const auto stack = [&] { return SequenceState::stack({&states[0], &states[1], &states[2]}); };
  if (GetParam().grows) {
    EXPECT_THROW(stack(), UsageError);
    return;
  }
  SequenceState all = stack();
  EXPECT_EQ(all.rows(), 3);
  for (int64_t step = 0; step < 5; ++step) {
    std::vector<at::Tensor> next;
    for (size_t i = 0; i < lengths.size(); ++i)
      next.push_back(sequences[i].narrow(1, lengths[i] + step, 1));
    const at::Tensor outputs = go_on(at::cat(next), all);
    for (size_t i = 0; i < lengths.size(); ++i)
      expect_equal(outputs[i],
                   whole(sequences[i].narrow(1, 0, lengths[i] + step + 1))[0].slice(0, -1));
  }
}

TEST_P(SequenceModelTest, SequencesSideBySideDoNotMeet) {
  const at::Tensor x = inputs(3, 6), y = whole(x);
  for (int64_t b = 0; b < 3; ++b) expect_equal(whole(x.narrow(0, b, 1)), y.narrow(0, b, 1));
}

TEST_P(SequenceModelTest, AStateSurvivesAFile) {
  model_->to(at::kFloat);
  const at::Tensor more = inputs(2, 3, 2);
  SequenceState state = model_->empty_state();
  go_on(inputs(2, 5), state);
  TensorFile file = through_a_file(state);
  SequenceState restored = model_->state_from(file, model_->empty_state());
  EXPECT_TRUE(go_on(more, restored).equal(go_on(more, state)));
  const auto last = std::prev(file.tensors.end());
  std::vector<at::Tensor> refused = {last->second.unsqueeze(0)};
  if (file.tensors.size() > 1) refused.push_back(last->second.narrow(0, 0, 1));  // one sequence
  for (const at::Tensor& wrong : refused) {
    last->second = wrong;
    EXPECT_THROW(model_->state_from(file, model_->empty_state()), DataError);
  }
  file.tensors.erase(last);
  EXPECT_THROW(model_->state_from(file, model_->empty_state()), DataError);
}

TEST_P(SequenceModelTest, ParametersSurviveAFile) {
  model_->to(at::kFloat);
  const auto loaded = through_a_file(*model_);
  EXPECT_EQ(loaded->hyper_parameters(), model_->hyper_parameters());
  at::NoGradGuard no_grad;
  const at::Tensor x = inputs(2, 7);
  EXPECT_TRUE(loaded->forward(x).equal(model_->forward(x)));
}

TEST_P(SequenceModelTest, TheFutureDoesNotReachThePast) {
  const at::Tensor x = inputs(2, 12), before = whole(x);
  for (int64_t changed = 0; changed < 12; ++changed) {
    const at::Tensor after = whole(with_other_step(x, changed));
    EXPECT_TRUE(after.narrow(1, 0, changed).equal(before.narrow(1, 0, changed))) << changed;
    EXPECT_FALSE(after.slice(1, changed).equal(before.slice(1, changed))) << changed;
  }
}

TEST_P(SequenceModelTest, EqualSeedsGiveEqualParameters) {
  const auto parameters_of = [&](uint64_t seed) {
    model_->initialise(seed);
    std::vector<at::Tensor> copies;
    for (const auto& parameter : model_->parameters()) copies.push_back(parameter.detach().clone());
    return copies;
  };
  const auto one = parameters_of(7), other = parameters_of(8), again = parameters_of(7);
  bool differs = false;
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(one[i].equal(again[i])) << i;
    differs |= !one[i].equal(other[i]);
  }
  EXPECT_TRUE(differs);
}

TEST_P(SequenceModelTest, ShapesAreKnownWithoutAllocatingParameters) {
  const auto shapes = parameter_shapes(model_->kind(), model_->hyper_parameters());
  const auto expected = parameter_shapes(*model_);
  ASSERT_EQ(shapes.size(), expected.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    EXPECT_EQ(shapes[i].name, expected[i].name);
    EXPECT_EQ(shapes[i].shape, expected[i].shape) << shapes[i].name;
  }
  EXPECT_EQ(model_kind(model_->kind()).language_model, language_ != nullptr);
}

TEST_P(SequenceModelTest, ReadsEmptyAndSingleSequences) {
  const int64_t width = language_ ? kChannels : kOutputs;
  EXPECT_EQ(whole(inputs(2, 0)).sizes(), (std::vector<int64_t>{2, 0, width}));
  EXPECT_EQ(whole(inputs(1, 1)).sizes(), (std::vector<int64_t>{1, 1, width}));
  EXPECT_EQ(model_->read(inputs(2, 0), model_->empty_state()).state.rows(), 0);
  EXPECT_THROW(model_->empty_state().select({0}), UsageError);
  EXPECT_THROW(model_->empty_state().tensors(), UsageError);
}

TEST_P(SequenceModelTest, RefusedInputsLeaveTheStateAsItWas) {
  const at::Tensor x = inputs(2, 6), more = inputs(2, 3, 2);
  SequenceState state = model_->empty_state();
  go_on(x, state);
  for (const at::Tensor& wrong : wrong_inputs(more)) {
    EXPECT_THROW(model_->forward(wrong), UsageError);
    EXPECT_THROW(model_->read(wrong, std::move(state)), UsageError);
  }
  for (const int64_t sequences : {1, 3})
    EXPECT_THROW(model_->read(inputs(sequences, 2), std::move(state)), UsageError);
  for (const int64_t first : {-1, 4})
    EXPECT_THROW(model_->read(more, std::move(state), first), UsageError);
  EXPECT_THROW(model_->step(more, std::move(state)), UsageError);
  expect_equal(go_on(more, state), whole(at::cat({x, more}, 1)).slice(1, 6));
}

/// Gradients, sequences that are read in pieces, chosen and joined, and drawn parameters.
TEST_P(SequenceModelTest, AnotherDeviceGivesTheSame) {
  const at::Tensor x = inputs(2, 9), targets = inputs(2, 9, 4), more = inputs(3, 4, 2);
  const auto results = [&] {
    const at::Tensor value =
        language_ ? language_->loss(x, targets, 5) : model_->forward(x).square().sum();
    std::vector<at::Tensor> gradients;  // [all parameters]
    for (const auto& gradient : torch::autograd::grad({value}, model_->parameters(), {}, false,
                                                      false, /*allow_unused=*/true))
      if (gradient.defined()) gradients.push_back(gradient.flatten());
    SequenceState state = model_->empty_state();
    std::vector<at::Tensor> found = {at::cat(gradients), go_on(x.narrow(1, 0, 5), state),
                                     go_on(x.narrow(1, 5, 4), state)};
    if (language_) found.push_back(language_->loss_per_position(x, targets));
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
  const auto drawn_parameters = [&] {
    model_->initialise(3);
    std::vector<at::Tensor> parameters;
    for (const auto& parameter : model_->parameters())
      parameters.push_back(parameter.detach().cpu().flatten());
    return at::cat(parameters);
  };
  const at::Tensor drawn_there = drawn_parameters();
  model_->to(at::kCPU);
  expect_equal(drawn_there, drawn_parameters());
}

}  // namespace tessera::test
