#include "tessera/model/stm.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/model/plain_stm.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tests/model/model_checks.h"
#include "tests/support/drawn.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using config::enum_name;
using config::to_json;
using test::relative_error;
using testing::HasSubstr;

StmConfig small_stm() {
  StmConfig config{
      .inputs = 5, .outputs = 4, .slots = 3, .width = 6, .distilled = 7, .readout = 5, .hidden = 8};
  config.alpha1.value = 0.6;
  config.alpha2.value = -0.4;
  config.alpha3.value = 0.3;
  return config;
}

StmConfig with_equations(const TwoMemoryEquations& equations) {
  StmConfig config = small_stm();
  config.variant = StmVariant::kCustom;
  config.equations = equations;
  return config;
}

/// The code's equations, the paper's, those for reinforcement learning, and each choice by itself.
std::vector<StmConfig> all_variants() {
  std::vector<StmConfig> configs = {small_stm(), small_stm(), small_stm()};
  configs[1].variant = StmVariant::kPaper;
  configs[2].variant = StmVariant::kReinforcement;
  const TwoMemoryEquations paper = TwoMemoryEquations::of_paper();
  const TwoMemoryEquations reinforcement = TwoMemoryEquations::of_reinforcement();
  std::vector<TwoMemoryEquations> single(8);
  single[0].write_product = paper.write_product;
  single[1].gates = paper.gates;
  single[2].relational_write = paper.relational_write;
  single[3].relational_read = paper.relational_read;
  single[4].projection = paper.projection;
  single[5].transfer = paper.transfer;
  single[6].relational_write = reinforcement.relational_write;
  single[7].projection = reinforcement.projection;
  for (const auto& equations : single) configs.push_back(with_equations(equations));
  return configs;
}

at::Tensor inputs(int64_t B, int64_t T, const StmConfig& config) {
  at::manual_seed(11);
  return at::randn({B, T, config.inputs}, at::kDouble);
}

void expect_equal_states(const TwoMemoryState& actual, const TwoMemoryState& expected,
                         double tolerance) {
  EXPECT_LT(relative_error(actual.item, expected.item), tolerance);
  EXPECT_LT(relative_error(actual.relational, expected.relational), tolerance);
}

TEST(Stm, HasThePublishedNumbersOfParameters) {
  const auto count = [](int64_t in, int64_t out, int64_t slots, int64_t width) {
    const StmConfig config{.inputs = in, .outputs = out, .slots = slots, .width = width};
    return Stm(config, std::nullopt).parameter_count();
  };
  EXPECT_EQ(count(34, 32, 8, 96), 1'170'965);  // copy, priority sort
  EXPECT_EQ(count(40, 8, 8, 96), 1'169'069);   // N-th farthest, the paper's size
  EXPECT_EQ(count(40, 8, 8, 128), 2'012'813);  // N-th farthest, the code's
  EXPECT_EQ(count(100, 10, 1, 48), 280'215);   // associative retrieval
  EXPECT_EQ(count(100, 10, 1, 96), 1'002'519);
}

// Outputs begin at none, the first, a middle and the last step.
TEST(Stm, FollowsThePlainEquationsInEveryVariant) {
  for (const StmConfig& config : all_variants()) {
    SCOPED_TRACE(to_json(config).dump());
    const auto model = test::double_model<Stm>(config);
    const at::Tensor x = inputs(2, 19, config);
    const Stm::Sequence plain = bench::PlainStm(*model).forward(x);
    for (int64_t first : {0, 7, 18, 19}) {
      const Stm::Sequence ours = model->run(x, {}, first);
      ASSERT_EQ(ours.outputs.size(1), 19 - first);
      if (first < 19) {
        EXPECT_LT(relative_error(ours.outputs, plain.outputs.slice(1, first)), 1e-10);
      }
      expect_equal_states(ours.state, plain.state, 1e-10);
    }
  }
}

TEST(Stm, HasTheGradientsOfThePlainEquationsInEveryVariant) {
  for (const StmConfig& config : all_variants()) {
    const auto model = test::double_model<Stm>(config);
    const at::Tensor x = inputs(2, 11, config);
    const auto gradients = [&](const Stm::Sequence& result, int64_t first) {
      const at::Tensor loss = result.outputs.slice(1, first).square().sum() +
                              result.state.item.sin().sum() + result.state.relational.cos().sum();
      std::vector<at::Tensor> found;
      model->zero_grad(true);
      loss.backward();
      for (const auto& parameter : model->parameters())  // some variants leave parameters unused
        found.push_back(parameter.grad().defined() ? parameter.grad().clone()
                                                   : at::zeros_like(parameter));
      return found;
    };
    const auto plain = gradients(bench::PlainStm(*model).forward(x), 4);
    const auto ours = gradients(model->run(x, {}, 4), 0);
    const auto names = model->named_parameters().keys();
    for (size_t k = 0; k < plain.size(); ++k)
      EXPECT_LT(relative_error(ours[k], plain[k]), 1e-9) << names[k] << to_json(config).dump();
  }
}

TEST(Stm, TheFusedLoopsGiveThePlainEquations) {
  StmConfig config = small_stm();
  config.width = 20;
  const auto reference = test::double_model<Stm>(config);
  const auto model = std::make_shared<Stm>(config, std::nullopt);
  {
    at::NoGradGuard no_grad;
    for (const auto& item : reference->named_parameters())
      model->named_parameters()[item.key()].copy_(item.value());
  }
  const at::Tensor x = inputs(3, 12, config);
  const at::Tensor expected = bench::PlainStm(*reference).forward(x).outputs.slice(1, 5);
  const at::Tensor y = model->forward(x.to(at::kFloat), {}, 5);
  EXPECT_LT(relative_error(y.to(at::kDouble), expected), 1e-4);
  expected.square().sum().backward();
  y.square().sum().backward();
  for (const auto& item : reference->named_parameters())
    EXPECT_LT(relative_error(model->named_parameters()[item.key()].grad().to(at::kDouble),
                             item.value().grad()),
              2e-4)
        << item.key();
}

TEST(Stm, ProductsInBFloat16ChangeLittle) {
  StmConfig config = small_stm();
  config.width = 20;
  Stm model(config, 7);
  config.precision = ops::Precision::kBFloat16;
  Stm rounding(config, 7);
  const at::Tensor x = inputs(3, 12, config).to(at::kFloat);
  const at::Tensor exact = model.forward(x, {}, 5), rounded = rounding.forward(x, {}, 5);
  EXPECT_FALSE(rounded.equal(exact));
  EXPECT_LT(relative_error(rounded, exact), 0.02);
  exact.square().sum().backward();
  rounded.square().sum().backward();
  for (const auto& item : model.named_parameters()) {
    if (!item.value().grad().defined()) continue;
    EXPECT_LT(relative_error(rounding.named_parameters()[item.key()].grad(), item.value().grad()),
              0.05)
        << item.key();
  }
}

TEST(Stm, StepsGiveTheWholeSequence) {
  for (const StmConfig& config : all_variants()) {
    const auto model = test::double_model<Stm>(config);
    const at::Tensor x = inputs(2, 10, config);
    const Stm::Sequence whole = model->run(x);
    EXPECT_TRUE(model->forward(x).equal(whole.outputs));
    SequenceState state = model->empty_state();
    for (int64_t t = 0; t < 10; ++t) {
      SequenceOutput step = model->step(x.select(1, t), std::move(state));
      EXPECT_LT(relative_error(step.outputs, whole.outputs.select(1, t)), 1e-10) << t;
      state = std::move(step.state);
    }
    expect_equal_states(state.as<TwoMemoryState>(), whole.state, 1e-10);
  }
}

// As for every model: a file is compared with these shapes before anything is allocated.
TEST(Stm, OnTheMetaDeviceParametersHaveSizesAndNoMemory) {
  std::vector<StmConfig> configs = all_variants();
  configs.push_back(small_stm());
  configs.back().projection_hidden = 3;
  configs.back().alpha1.learned = false;
  for (const StmConfig& config : configs) {
    const Stm model(config, std::nullopt), sizes(config, std::nullopt, at::kMeta);
    const auto expected = model.named_parameters(), actual = sizes.named_parameters();
    ASSERT_EQ(actual.keys(), expected.keys());
    for (const auto& item : actual) {
      EXPECT_TRUE(item.value().is_meta()) << item.key();
      EXPECT_EQ(item.value().sizes(), expected[item.key()].sizes()) << item.key();
    }
    for (const auto& buffer : sizes.buffers()) EXPECT_TRUE(buffer.is_meta());
  }
}

TEST(Stm, ItsKindMakesItFromHyperParameters) {
  StmConfig config = with_equations(TwoMemoryEquations::of_paper());
  config.alpha3 = {0.25, false};
  const Stm model(config, 3);
  const auto made = model_kind("stm").make(model.hyper_parameters(), 3, at::kCPU);
  EXPECT_EQ(made->kind(), "stm");
  EXPECT_EQ(made->hyper_parameters(), model.hyper_parameters());
  test::expect_equal_parameters(*made, model);
  EXPECT_THROW(make_language_model("stm", model.hyper_parameters()), UsageError);
}

// The suite of recurrent networks holds the past of two variants.
TEST(Stm, InEachVariantAStepReachesItsOwnOutputAndTheLastAndNoneBefore) {
  for (const StmConfig& config : all_variants()) {
    const auto model = test::double_model<Stm>(config);
    const at::Tensor x = inputs(2, 12, config);
    at::Tensor changed = x.clone();
    changed.select(1, 8).add_(1);
    const at::Tensor before = model->forward(x), after = model->forward(changed);
    EXPECT_TRUE(before.slice(1, 0, 8).equal(after.slice(1, 0, 8)));
    EXPECT_GT(relative_error(after.select(1, 8), before.select(1, 8)), 1e-6);
    EXPECT_GT(relative_error(after.select(1, 11), before.select(1, 11)), 1e-9);
  }
}

TEST(Stm, TheVariantsDiffer) {
  const at::Tensor x = inputs(2, 6, small_stm());
  std::vector<at::Tensor> states;
  for (const StmConfig& config : all_variants()) {
    const auto model = std::make_shared<Stm>(config, 7);
    model->to(at::kDouble);
    states.push_back(model->run(x).state.relational);
  }
  for (size_t a = 0; a < states.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      EXPECT_GT(relative_error(states[a], states[b]), 1e-3) << a << " and " << b;
}

// Without gates, reads and transfers nothing needs f2, f3 or G1.
TEST(Stm, ConstantsOfZeroLeaveTheirPartsOut) {
  StmConfig config = small_stm();
  config.gated = false;
  config.alpha1 = config.alpha2 = config.alpha3 = {0, false};
  const auto model = test::double_model<Stm>(config);
  const at::Tensor x = inputs(2, 10, config);
  const Stm::Sequence plain = bench::PlainStm(*model).forward(x);
  const Stm::Sequence ours = model->run(x);
  EXPECT_LT(relative_error(ours.outputs, plain.outputs), 1e-10);
  expect_equal_states(ours.state, plain.state, 1e-10);
  ours.outputs.sum().backward();
  for (const auto& item : model->named_parameters()) {
    const bool unused =
        item.key().starts_with("cell.pattern") || item.key().starts_with("cell.attention");
    EXPECT_EQ(item.value().grad().defined(), !unused) << item.key();
  }
  EXPECT_EQ(model->named_parameters().find("cell.item.input_bias"), nullptr);
  EXPECT_EQ(model->named_parameters().find("cell.relational.alpha1"), nullptr);
  EXPECT_EQ(model->named_parameters().find("cell.relational.transfer.weight"), nullptr);
}

TEST(Stm, BeginsWithMemoriesOfEverySequence) {
  const Stm::Sequence none = Stm(small_stm()).run(at::zeros({2, 0, 5}));
  EXPECT_EQ(none.outputs.sizes(), at::IntArrayRef({2, 0, 4}));
  EXPECT_EQ(none.state.item.sizes(), at::IntArrayRef({2, 6, 6}));
  EXPECT_EQ(none.state.relational.sizes(), at::IntArrayRef({2, 3, 6, 6}));
}

TEST(Stm, GoesOnFromAStateWithoutTensorsAsFromNone) {
  Stm model(small_stm());
  const at::Tensor x = at::ones({2, 3, 5});
  const TwoMemoryState start = TwoMemoryState().detach();
  const Stm::Sequence first = model.run(x, start);
  EXPECT_TRUE(first.outputs.equal(model.run(x).outputs));
  const TwoMemoryState next = first.state.detach();
  EXPECT_FALSE(next.item.requires_grad());
  EXPECT_FALSE(model.run(x, next).outputs.equal(first.outputs));
  EXPECT_THROW(start.select({0}), UsageError);
  EXPECT_THROW(next.select({2}), UsageError);
  EXPECT_THROW(TwoMemoryState::stack({}), UsageError);
  EXPECT_THROW(TwoMemoryState::stack({&next, &start}), UsageError);
}

// Le et al. 2020, appendix D: U tanh(M) + W x, where W x is added to every column.
TEST(ItemMemory, GatesOfThePaperMultiplyTheMemoryFromTheLeft) {
  TwoMemoryOptions options = small_stm().cell_options();
  options.width = options.inputs = 2;
  options.equations.gates = ops::GateForm::kLinear;
  ItemMemory memory(options);
  at::NoGradGuard no_grad;
  memory->forget_bias.zero_();
  // The forget gate alone: its row i is tanh of row 1 - i of M, and 10 or 20 from x.
  memory->memory_gate->weight.copy_(at::tensor({0., 0., 0., 0., 0., 1., 1., 0.}).view({4, 2}));
  memory->input_gate->weight.copy_(at::tensor({0., 0., 0., 0., 10., 0., 0., 20.}).view({4, 2}));
  const at::Tensor ones = at::ones({1, 1, 2}), M = at::tensor({1., 2., 3., 4.}).view({1, 2, 2});
  const at::Tensor gates = memory->gate_inputs(ones, at::Tensor()).select(0, 0);
  const at::Tensor written = memory->write(M.to(at::kFloat), ones[0], ones[0], gates);
  const at::Tensor expected = at::tensor({10 + std::tanh(3.), 2 * (10 + std::tanh(4.)),
                                          3 * (20 + std::tanh(1.)), 4 * (20 + std::tanh(2.))});
  EXPECT_LT(relative_error(written.flatten().to(at::kDouble), expected.to(at::kDouble)), 1e-6);
}

// Eq. 13: G1 maps the columns of R, flattened to [N D, D], so that the rows of what is transferred
// are sums of stored values (eq. 24). In the authors' code its columns are.
TEST(TwoMemoryPass, TransfersTheValuesOfThePaperAlongTheRows) {
  TwoMemoryOptions options = small_stm().cell_options();
  options.gated = false;
  for (const bool of_paper : {true, false}) {
    if (of_paper) options.equations = TwoMemoryEquations::of_paper();
    options.alpha1 = options.alpha3 = {1, /*learned=*/false};
    TwoMemoryCell cell(options);
    at::manual_seed(3);
    for (auto& parameter : cell->parameters()) parameter.data().normal_();
    const at::Tensor x = at::randn({1, 2, options.inputs});
    TwoMemoryPass pass(cell, x, {});
    pass.step();
    const at::Tensor left = cell->content->forward(x[0]);
    const at::Tensor right = of_paper ? cell->pattern->forward(x[0]) : left;
    const at::Tensor written = cell->item->initial + left.unsqueeze(2) * right.unsqueeze(1);
    const at::Tensor before = of_paper ? at::zeros_like(cell->relational->initial)
                                       : cell->relational->initial;  // R_1 is S_1 + R_0
    const at::Tensor source = pass.state().relational - before;
    const auto& G1 = *cell->relational->transfer;
    const at::Tensor mapped =
        at::matmul(G1.weight, source.flatten(1, 2)) + G1.bias.unsqueeze(1);  // [B, D, D]
    EXPECT_LT(
        relative_error(pass.state().item - written, of_paper ? mapped : mapped.transpose(1, 2)),
        1e-5);
    options.equations = {};
  }
}

// The reads of 64 steps are taken of one R. Without reads as many candidates are kept until R is
// formed.
TEST(Stm, LongSequencesFollowThePlainEquations) {
  std::vector<StmConfig> configs = {small_stm(), with_equations({})};
  configs[1].equations.relational_write = RelationalWrite::kAdd;
  configs[1].equations.transfer = TransferSource::kMemory;
  configs[1].alpha2 = {0, /*learned=*/false};
  for (const StmConfig& config : configs) {
    const auto model = test::double_model<Stm>(config);
    const at::Tensor x = inputs(1, 67, config);
    const Stm::Sequence plain = bench::PlainStm(*model).forward(x), ours = model->run(x, {}, 65);
    EXPECT_LT(relative_error(ours.outputs, plain.outputs.slice(1, 65)), 1e-9);
    expect_equal_states(ours.state, plain.state, 1e-9);
    const auto gradient = [&](const Stm::Sequence& of) {
      model->zero_grad(true);
      (of.outputs.select(1, -1).sum() + of.state.item.sin().sum()).backward();
      return model->cell->relational->alpha1.grad().clone();
    };
    EXPECT_LT(relative_error(gradient(ours), gradient(plain)), 1e-8);
  }
}

TEST(TwoMemoryPass, TakesAsManyStepsAsThereAre) {
  TwoMemoryPass pass(TwoMemoryCell(small_stm().cell_options()), at::ones({2, 1, 5}), {});
  pass.step();
  pass.step();
  EXPECT_THROW(pass.step(), UsageError);
  EXPECT_EQ(pass.state().item.sizes(), at::IntArrayRef({1, 6, 6}));
}

TEST(TwoMemoryPass, RefusesWhatDoesNotFitItsCell) {
  const TwoMemoryCell cell(small_stm().cell_options());
  const at::Tensor x = at::ones({2, 1, 5});
  TwoMemoryState doubles = cell->initial_state(1);
  doubles.relational = doubles.relational.to(at::kDouble);
  EXPECT_THROW(TwoMemoryPass(cell, x.to(at::kDouble), {}), UsageError);
  EXPECT_THROW(TwoMemoryPass(cell, x.slice(2, 1), {}), UsageError);
  EXPECT_THROW(TwoMemoryPass(cell, x, doubles), UsageError);
}

TEST(Stm, OverfitsOneBatch) {
  StmConfig config = small_stm();
  config.alpha1 = config.alpha2 = config.alpha3 = BlendFactor();
  config.width = 12;
  for (StmVariant variant :
       {StmVariant::kAuthors, StmVariant::kPaper, StmVariant::kReinforcement}) {
    config.variant = variant;
    Stm model(config, 1);
    at::manual_seed(2);
    const at::Tensor x = at::randn({4, 6, 5}), targets = at::rand({4, 3, 4}).round();
    const auto loss = [&] { return at::mse_loss(model.forward(x, {}, 3), targets); };
    EXPECT_LT(test::loss_after_adam(model.parameters(), loss, 1e-2, 400, 3e-3, 0.999), 1e-2)
        << enum_name(variant);
  }
}

TEST(Stm, BeginsAsItsConfigurationAndTheAuthorsSay) {
  const auto parameters = Stm(small_stm(), 4).named_parameters();
  EXPECT_LE(parameters["distillation.weight"].abs().max().item<double>(), 1 / 6.0);
  EXPECT_GT(parameters["distillation.weight"].abs().max().item<double>(), 0.9 / 6.0);
  EXPECT_EQ(parameters["cell.item.forget_bias"].item<double>(), 1);
  EXPECT_NEAR(parameters["cell.relational.alpha2"].item<double>(), -0.4, 1e-7);
}

TEST(Stm, RefusesBadConfigurations) {
  const auto message = [](auto change) {
    StmConfig config = small_stm();
    change(config);
    return test::message_of<UsageError>([&] { config.check(); });
  };
  EXPECT_THAT(message([](StmConfig& c) { c.alpha2.value = NAN; }), HasSubstr("model.alpha2.value"));
  EXPECT_THAT(message([](StmConfig& c) { c.equations = TwoMemoryEquations::of_paper(); }),
              HasSubstr("only with model.variant = 'custom'"));
  EXPECT_THAT(message([](StmConfig& c) { c.width = c.distilled = int64_t{1} << 28; }),
              HasSubstr("too large"));
  EXPECT_EQ(message([](StmConfig&) {}), "");
  TwoMemoryOptions options = small_stm().cell_options();
  options.slots = 0;
  EXPECT_THROW(TwoMemoryCell(options, at::kCPU), UsageError);
  options = small_stm().cell_options();
  options.width = -1;
  EXPECT_THROW(ItemMemory(options, at::kCPU), UsageError);
  EXPECT_THROW(SelfAttention(options, at::kCPU), UsageError);
  EXPECT_THROW(RelationalMemory(options, at::kCPU), UsageError);
}

// With the paper's gates, which are as large as the inputs, the item memory overflows.
TEST(Stm, StaysFiniteOnLargeInputsWithTheGatesOfTheCode) {
  Stm model(small_stm(), 1, at::kCPU);
  const at::Tensor y = model.forward(1e4 * test::drawn({2, 30, 5}, 1).to(at::kFloat));
  EXPECT_TRUE(y.isfinite().all().item<bool>());
  y.sum().backward();
  for (const auto& item : model.named_parameters())
    EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();
}

}  // namespace
}  // namespace tessera
