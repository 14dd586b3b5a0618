#include "tessera/memory/make_linear.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(MakeLinear, OnTheCpuIsALinearMap) {
  const torch::nn::Linear linear = make_linear(3, 2, /*with_bias=*/true, at::kCPU);
  EXPECT_EQ(linear->weight.sizes(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(linear->bias.sizes(), (std::vector<int64_t>{2}));
  EXPECT_GT(linear->weight.abs().sum().item<double>(), 0) << "not drawn";
}

TEST(MakeLinear, OnTheMetaDeviceHasSizesAndNoMemory) {
  constexpr int64_t kHuge = int64_t{1} << 28;
  for (const bool with_bias : {false, true}) {
    const torch::nn::Linear linear = make_linear(kHuge, 4 * kHuge, with_bias, at::kMeta);
    const auto parameters = linear->named_parameters();
    ASSERT_EQ(parameters.size(), with_bias ? 2u : 1u);
    EXPECT_EQ(parameters["weight"].sizes(), (std::vector<int64_t>{4 * kHuge, kHuge}));
    EXPECT_TRUE(linear->weight.is_meta() && linear->weight.requires_grad());
    EXPECT_EQ(linear->bias.defined(), with_bias);
    EXPECT_EQ(linear->options.in_features(), kHuge);
  }
}

}  // namespace
}  // namespace tessera
