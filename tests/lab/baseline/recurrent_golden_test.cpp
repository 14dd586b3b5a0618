// Networks that tests/golden/recurrent.py computed with plain loops.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/model/model_kind.h"
#include "tessera/tensor/tensor_file.h"
#include "tests/support/folders.h"
#include "tests/support/numerical_gradient.h"

namespace tessera {
namespace {

constexpr const char* kGolden[] = {
    "attentional_lstm", "fast_weights", "rmc_unit", "rmc_memory", "ntm", "dnc",
};

class RecurrentGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(RecurrentGoldenTest, AgreesWithPlainLoopsInValuesAndGradients) {
  const TensorFile file =
      TensorFile::load(test::golden_file(GetParam() + std::string(".safetensors")));
  const auto of = [&](const std::string& name) { return file.tensors.at(name).to(at::kDouble); };
  const auto model = model_kind(file.metadata.at("kind"))
                         .make(config::parse_json(file.metadata.at("hyper_parameters"), "golden"),
                               std::nullopt, at::kCPU);
  model->to(at::kDouble);
  auto parameters = model->named_parameters();
  ASSERT_EQ(2 * parameters.size() + 3, file.tensors.size());
  {
    at::NoGradGuard no_grad;
    for (auto& item : parameters) {
      ASSERT_EQ(item.value().sizes(), of(item.key()).sizes()) << item.key();
      item.value().copy_(of(item.key()));
    }
  }
  const at::Tensor y = model->forward(of("x"));
  EXPECT_LT(test::relative_error(y.detach(), of("y")), 1e-6);
  (of("weights") * y).sum().backward();
  for (const auto& item : parameters)
    EXPECT_LT(test::relative_error(item.value().grad(), of("grad." + item.key())), 1e-5)
        << item.key();
}

INSTANTIATE_TEST_SUITE_P(Golden, RecurrentGoldenTest, testing::ValuesIn(kGolden),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera
