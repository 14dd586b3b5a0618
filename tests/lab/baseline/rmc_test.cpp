#include "lab/baseline/rmc.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/baseline/tensor_state.h"
#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(Rmc, TheFirstMemoryIsTheIdentity) {
  RmcConfig config{.slots = 3, .heads = 2, .head_width = 2};
  EXPECT_TRUE(Rmc(config).named_parameters()["first_memory"].equal(at::eye(3, 4)));
  config.slots = 5;
  EXPECT_TRUE(Rmc(config).named_parameters()["first_memory"].equal(at::eye(5, 4)));
}

TEST(Rmc, ClosedInputGatesAndOpenForgetGatesKeepTheMemory) {
  for (RmcGates gates : {RmcGates::kUnit, RmcGates::kMemory}) {
    Rmc model({.inputs = 3, .slots = 2, .heads = 2, .head_width = 2, .gates = gates});
    {
      at::NoGradGuard no_grad;
      auto parameters = model.named_parameters();
      parameters["memory_gate.weight"].zero_();
      at::Tensor bias = parameters["memory_gate.bias"];
      bias.chunk(2)[0].fill_(-60);  // input gates
      bias.chunk(2)[1].fill_(60);   // forget gates
      parameters["input_gate.weight"].zero_();
      parameters["input_gate.bias"].zero_();
    }
    const SequenceState state = model.read(at::randn({1, 5, 3}), model.empty_state()).state;
    EXPECT_TRUE(at::allclose(state.as<TensorState>().part(0)[0], at::eye(2, 4)));
  }
}

TEST(Rmc, HasTheParametersOfItsEquations) {
  const int64_t C = 128;
  // the first memory, W_u, queries, keys and values, three norms, MLP, head
  const int64_t rest = 8 * C + C * (34 + 1) + 3 * C * (C + 1) + 2 * (3 * C + C + C) +
                       2 * C * (C + 1) + 32 * (8 * C + 1);
  RmcConfig config;
  EXPECT_EQ(Rmc(config, std::nullopt, at::kMeta).parameter_count(), rest + 2 * 2 * C * (C + 1));
  config.gates = RmcGates::kMemory;
  EXPECT_EQ(Rmc(config, std::nullopt, at::kMeta).parameter_count(), rest + 2 * 2 * (C + 1));
}

TEST(Rmc, RefusesSizesThatAreTogetherTooLarge) {
  const auto message = [](auto change) {
    RmcConfig config;
    change(config);
    return test::message_of<UsageError>([&] { Rmc model(config, std::nullopt, at::kMeta); });
  };
  constexpr int64_t kLarge = int64_t{1} << 28;
  EXPECT_THAT(message([](auto& c) {
                c.heads = 4096;
                c.head_width = kLarge;
              }),
              HasSubstr("model.heads is 4096 and model.head_width 268435456"));
  EXPECT_THAT(message([](auto& c) {
                c.slots = kLarge;
                c.heads = 4096;
                c.head_width = 1 << 17;
              }),
              HasSubstr("model.slots is 268435456, model.heads is 4096"));
}

}  // namespace
}  // namespace tessera
