#include "tessera/checkpoint/sam_names.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::relative_error;
using testing::HasSubstr;

TensorFile golden(const std::string& part) {
  return TensorFile::load(TESSERA_SOURCE_FOLDER "/tests/golden/stm_a." + part + ".safetensors");
}

constexpr double kAgreement = 1e-4;  // relative to the largest absolute value of a tensor

TEST(SamNames, TheGoldenModelGivesItsOutputsAndStates) {
  const auto model = import_sam(golden("weights"));
  const TensorFile expected = golden("expected");
  const Stm::Sequence result = model->forward(expected.tensors.at("x"));
  EXPECT_LT(relative_error(result.y, expected.tensors.at("y")), kAgreement);
  EXPECT_LT(relative_error(result.state.item, expected.tensors.at("item_memory")), kAgreement);
  EXPECT_LT(relative_error(result.state.relational, expected.tensors.at("relational_memory")),
            kAgreement);
}

TEST(SamNames, TheGoldenModelGivesItsLossAndEveryGradient) {
  const auto model = import_sam(golden("weights"));
  const TensorFile expected = golden("expected");
  const at::Tensor y = model->forward(expected.tensors.at("x")).y;
  const at::Tensor loss = at::mse_loss(y, expected.tensors.at("targets"));
  loss.backward();
  EXPECT_LT(relative_error(loss.detach().view({1}), expected.tensors.at("loss")), kAgreement);
  size_t gradients = 0;
  for (const auto& item : model->named_parameters()) {
    const std::string name = "grad." + sam_name(item.key()).value();
    ASSERT_TRUE(item.value().grad().defined()) << name;
    EXPECT_LT(relative_error(item.value().grad(), expected.tensors.at(name)), kAgreement) << name;
    ++gradients;
  }
  EXPECT_EQ(gradients, golden("weights").tensors.size());
}

TEST(SamNames, EveryParameterHasANameAndNoTwoTheSame) {
  StmConfig config;
  config.projection_hidden = 3;
  std::set<std::string> names;
  const Stm model(config, std::nullopt);
  for (const auto& item : model.named_parameters()) {
    ASSERT_TRUE(sam_name(item.key())) << item.key();
    EXPECT_TRUE(names.insert(*sam_name(item.key())).second) << item.key();
  }
  EXPECT_FALSE(sam_name("cell.content.0.wait"));
  EXPECT_FALSE(sam_name("cell"));
}

TEST(SamNames, AFactorThatIsMissingIsAConstant) {
  TensorFile file = golden("weights");
  file.tensors.erase("alpha20");
  const auto model = import_sam(file, {0, 0.25, 0});
  EXPECT_EQ(model->configuration().alpha2.value, 0.25);
  EXPECT_FALSE(model->configuration().alpha2.learned);
  EXPECT_TRUE(model->configuration().alpha1.learned);
}

TEST(SamNames, NamesEveryFaultOfAFile) {
  TensorFile file = golden("weights");
  file.tensors.erase("rel_projector2.weight");
  file.tensors["qkv_projector.0.bias"] = at::zeros({5});
  file.tensors["surplus"] = at::zeros({2});
  const std::string message = test::message_of<DataError>([&] { import_sam(file); });
  EXPECT_THAT(message, HasSubstr("rel_projector2.weight is missing, expected [16, 64]"));
  EXPECT_THAT(message, HasSubstr("qkv_projector.0.bias is [5], expected [12]"));
  EXPECT_THAT(message, HasSubstr("surplus [2] is not expected"));
  file.tensors.erase("item_memory_state_bias");
  EXPECT_THAT(test::message_of<DataError>([&] { import_sam(file); }),
              HasSubstr("item_memory_state_bias"));
}

}  // namespace
}  // namespace tessera
