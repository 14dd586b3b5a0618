// What `tessera forward` computes from a model directory and given tensors.

#include "tessera/infer/forward.h"

#include "tests/checkpoint/weight_files.h"
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
  expect_data_error(run({{"idx", at::ones({1, 11}, at::kLong)}}, false), {"11 tokens"});
  expect_data_error(run({{"idx", at::ones({1, 0}, at::kLong)}}, false), {"empty"});
  save_model(folder_, *model);
  save_tensors(folder_ / "in.safetensors", {{"idx", idx}});
  EXPECT_THROW(run_forward(folder_, folder_ / "in.safetensors", folder_ / "out.safetensors",
                           {false, ParameterNames::kSource}),
               UsageError);
  EXPECT_FALSE(fs::exists(folder_ / "out.safetensors"));
}

/// What the authors' code computed, to 1e-4 of each tensor's largest absolute value.
class Golden : public testing::TestWithParam<std::pair<const char*, const char*>> {};

/// Those of every clone, or those that the build was told of.
fs::path golden_folder(const std::string& name) {
  const fs::path ours = fs::path(TESSERA_SOURCE_FOLDER) / "tests/golden";
  return fs::exists(ours / (name + ".weights.safetensors")) ? ours
                                                            : fs::path(TESSERA_GOLDEN_FOLDER);
}

TEST_P(Golden, OutputsAndGradientsAreThoseOfTheAuthorsCode) {
  const auto& [name, kind] = GetParam();
  const fs::path golden = golden_folder(name);
  if (!fs::exists(golden / fmt::format("{}.weights.safetensors", name)))
    GTEST_SKIP() << "no golden tensors in " << golden;
  const auto [model, format] =
      import_weights(kind, golden / fmt::format("{}.weights.safetensors", name));
  const auto expected = TensorFile::load(golden / fmt::format("{}.expected.safetensors", name));
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
}

INSTANTIATE_TEST_SUITE_P(Pairs, Golden,
                         testing::Values(std::pair{"mosaic_tiny", "nanomosaics"},
                                         std::pair{"gpt_tiny", "nanogpt"},
                                         std::pair{"mosaic_a", "nanomosaics"},
                                         std::pair{"mosaic_b", "nanomosaics"},
                                         std::pair{"gpt_a", "nanogpt"}),
                         [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace tessera
