// What `tessera forward` computes from a model directory and given tensors.

#include "tessera/infer/forward.h"

#include <ATen/core/grad_mode.h>

#include "tessera/model/model_kind.h"
#include "tests/checkpoint/weight_files.h"
#include "tests/support/folders.h"
#include "tests/support/numerical_gradient.h"

namespace tessera {
namespace {

using test::WeightFiles;
namespace fs = std::filesystem;

class Forward : public WeightFiles {};

TEST_F(Forward, GivesLogitsLossAndGradients) {
  const auto model = model_of("gpt", "");
  save_model(folder_ / "model", *model, ForeignFormat{"nanogpt", ""});
  const at::Tensor idx = at::tensor({1, 2, 3, 4, 5, 12}, at::kLong).view({2, 3});
  const at::Tensor targets = at::tensor({2, 3, -1, 5, 12, 0}, at::kLong).view({2, 3});
  save_tensors(folder_ / "in.safetensors", {{"idx", idx}, {"targets", targets.to(at::kInt)}});
  run_forward(folder_ / "model", folder_ / "in.safetensors", folder_ / "out.safetensors",
              {/*gradients=*/true, ParameterNames::kSource});
  const auto output = TensorFile::load(folder_ / "out.safetensors");
  {
    at::NoGradGuard no_grad;  // as the command does: few rows round otherwise with gradients
    EXPECT_TRUE(output.at("logits", {2, 3, 13}).equal(model->logits(model->hidden(idx))));
  }
  EXPECT_EQ(output.at("loss", {1}).item<float>(), model->loss(idx, targets).item<float>());
  output.at("grad.transformer.h.1.attn.c_attn.weight", {24, 8});
  EXPECT_FALSE(output.tensors.count("grad.lm_head.weight"));
  EXPECT_EQ(output.tensors.size(), 2 + model->named_parameters().size());
}

TEST_F(Forward, RefusesWrongInputs) {
  const auto model = model_of("gpt", "");
  const auto run = [&](const NamedTensors& tensors, bool gradients) {
    return [&model, tensors, gradients] {
      run_forward(*model, {"in", {tensors.begin(), tensors.end()}, {}}, gradients);
    };
  };
  const at::Tensor idx = at::ones({1, 3}, at::kLong);
  expect_data_error(run({}, false), {"no tensor 'idx'"});
  expect_data_error(run({{"idx", idx[0]}}, false), {"'idx' has shape [3]"});
  expect_data_error(run({{"idx", idx.to(at::kFloat)}}, false), {"'idx' has type"});
  expect_data_error(run({{"idx", idx + 12}}, false), {"'idx' holds 13, expected 0 to 12"});
  expect_data_error(run({{"idx", idx}, {"targets", idx - 3}}, false), {"'targets' holds -2"});
  expect_data_error(run({{"idx", idx}, {"targets", idx.t()}}, false), {"'targets' has shape"});
  expect_data_error(run({{"idx", idx}}, true), {"'targets', which gradients need"});
  expect_data_error(run({{"idx", idx}, {"tragets", idx}}, false),
                    {"'tragets' is unknown; did you mean 'targets'?", "reads idx, targets"});
  expect_data_error(run({{"idx", at::ones({1, 11}, at::kLong)}}, false), {"11 tokens"});
  expect_data_error(run({{"idx", at::ones({1, 0}, at::kLong)}}, false), {"empty"});
  save_model(folder_, *model);
  save_tensors(folder_ / "in.safetensors", {{"idx", idx}});
  EXPECT_THROW(run_forward(folder_, folder_ / "in.safetensors", folder_ / "out.safetensors",
                           {false, ParameterNames::kSource}),
               UsageError);
  EXPECT_FALSE(fs::exists(folder_ / "out.safetensors"));
}

class ForwardOfVectors : public WeightFiles {
 protected:
  std::shared_ptr<SequenceModel> model_ = model_kind("stm").make(
      {{"inputs", 5}, {"outputs", 4}, {"slots", 3}, {"width", 6}}, /*seed=*/3, at::kCPU);
};

TEST_F(ForwardOfVectors, GivesOutputsMemoriesLossAndGradients) {
  const at::Tensor x = at::randn({7, 2, 5}), targets = at::randn({7, 2, 4});
  save_model(folder_ / "model", *model_);
  save_tensors(folder_ / "in.safetensors", {{"x", x}, {"targets", targets}});
  run_forward(folder_ / "model", folder_ / "in.safetensors", folder_ / "out.safetensors",
              {/*gradients=*/true, ParameterNames::kOwn});
  const auto output = TensorFile::load(folder_ / "out.safetensors");
  const at::Tensor y = model_->forward(x.transpose(0, 1)).transpose(0, 1);
  const at::Tensor loss = (y - targets).square().mean();
  loss.backward();
  EXPECT_LT(test::relative_error(output.at("y", {7, 2, 4}), y), 1e-5);
  EXPECT_LT(test::relative_error(output.at("loss", {1}), loss.view({1})), 1e-5);
  output.at("item_memory", {2, 6, 6});
  output.at("relational_memory", {2, 3, 6, 6});
  for (const auto& item : model_->named_parameters())
    EXPECT_LT(test::relative_error(output.at("grad." + item.key(), item.value().sizes().vec()),
                                   item.value().grad()),
              1e-4)
        << item.key();
  EXPECT_EQ(output.tensors.size(), 4 + model_->named_parameters().size());
  EXPECT_EQ(run_forward(*model_, {"in", {{"x", x}}, {}}, false).size(), 3u);
}

TEST_F(ForwardOfVectors, RefusesWrongInputs) {
  const auto run = [&](const NamedTensors& tensors, bool gradients = false) {
    return [this, tensors, gradients] {
      run_forward(*model_, {"in", {tensors.begin(), tensors.end()}, {}}, gradients);
    };
  };
  const at::Tensor x = at::ones({3, 2, 5});
  expect_data_error(run({{"idx", x}}), {"no tensor 'x'"});
  expect_data_error(run({{"x", x[0]}}), {"'x' has shape [2, 5]"});
  expect_data_error(run({{"x", x.to(at::kLong)}}), {"'x' has type"});
  expect_data_error(run({{"x", at::ones({3, 2, 6})}}), {"'x' does not fit the model", "[2, 3, 6]"});
  expect_data_error(run({{"x", at::ones({0, 2, 5})}}), {"'x' is empty"});
  expect_data_error(run({{"x", x}, {"targets", at::ones({2, 3, 4})}}), {"'targets' has shape"});
  expect_data_error(run({{"x", x}}, true), {"'targets', which gradients need"});
  const at::Tensor targets = at::ones({3, 2, 4}), answers = at::ones({3, 2}, at::kBool);
  expect_data_error(run({{"inputs", x}, {"targets", targets}, {"answers", answers}}, true),
                    {"samples of a task", "without 'answers'"});
}

/// What the authors' code computed, to 1e-4 of each tensor's largest absolute value.
class Golden : public WeightFiles,
               public testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(Golden, OutputsAndGradientsAreThoseOfTheAuthorsCode) {
  const auto& [name, kind] = GetParam();
  const fs::path weights = test::golden_file(fmt::format("{}.weights.safetensors", name));
  if (!fs::exists(weights)) GTEST_SKIP() << "there is no " << weights;
  const fs::path output = test::golden_file(fmt::format("{}.expected.safetensors", name));
  const auto [model, format] = import_weights(kind, weights);
  const auto expected = TensorFile::load(output);
  const NamedTensors actual = run_forward(*model, expected, /*gradients=*/true, format);
  EXPECT_EQ(actual.size() + 2, expected.tensors.size());  // the two inputs
  double worst = 0;
  for (const auto& [tensor, values] : actual) {
    const double error = test::relative_error(values, expected.at(tensor, values.sizes().vec()));
    EXPECT_LT(error, 1e-4) << tensor;
    worst = std::max(worst, error);
  }
  RecordProperty("worst_relative_error", fmt::format("{:.2g}", worst));
  fmt::print("{}: {} tensors, worst relative error {:.2g}\n", name, actual.size(), worst);

  // The names and the numbers go back as they came.
  export_weights(format, *model, folder_ / "exported.safetensors");
  const auto given = TensorFile::load(weights);
  const auto exported = TensorFile::load(folder_ / "exported.safetensors");
  for (const auto& [tensor, values] : exported.tensors)
    EXPECT_TRUE(values.equal(given.at(tensor, values.sizes().vec()))) << tensor;
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, Golden,
    testing::Values(std::pair{"mosaic_tiny", "nanomosaics"}, std::pair{"gpt_tiny", "nanogpt"},
                    std::pair{"stm_a", "sam"}, std::pair{"mosaic_a", "nanomosaics"},
                    std::pair{"mosaic_b", "nanomosaics"}, std::pair{"gpt_a", "nanogpt"}),
    [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace tessera
