#pragma once

// What every recurrent network over vectors promises beside what every sequence model does, held by
// one suite over all of them. A test program instantiates both with the networks of its room.

#include <gmock/gmock.h>

#include "tests/model/sequence_model_suite.h"
#include "tests/support/temporary_folder.h"

namespace tessera::test {

class RecurrentNetworkTest : public SequenceModelTest {};

TEST_P(RecurrentNetworkTest, EveryParameterGetsAGradientThroughAllSteps) {
  const at::Tensor x = inputs(2, 7).requires_grad_();
  model_->forward(x, {}, 6).square().sum().backward();
  for (const auto& item : model_->named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_GT(item.value().grad().abs().max().item<double>(), 0) << item.key();
    EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();
  }
  EXPECT_GT(x.grad().select(1, 0).abs().max().item<double>(), 0);
}

TEST_P(RecurrentNetworkTest, ReadsNoSequences) {
  EXPECT_EQ(whole(inputs(0, 3)).sizes(), (std::vector<int64_t>{0, 3, kOutputs}));
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

}  // namespace tessera::test
