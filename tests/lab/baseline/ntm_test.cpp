#include "lab/baseline/ntm.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/baseline/tensor_state.h"
#include "tessera/base/error.h"
#include "tests/model/by_hand.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::fill;
using testing::HasSubstr;

constexpr size_t kNtmMemory = 0, kNtmWeights = 1, kNtmReads = 2;  // parts of the state

NtmConfig small_ntm() {
  return {.inputs = 3, .controller = 4, .slots = 4, .width = 2};
}

/// An interface that asks for the same in every step, whatever it reads.
void always_ask(const Ntm& model, const std::vector<double>& interface) {
  fill(model, "interface.weight", {0});
  fill(model, "interface.bias", interface);
}

// The write head begins at row 0 and moves on by one place a step; it erases and writes (5, -2).
// The read head begins at row 0 and moves back: to 3, 2, 1. The gates to content are closed.
TEST(Ntm, HeadsMoveByPlaceAndWriteWhereTheyAre) {
  Ntm model(small_ntm());
  always_ask(model, {0,  0,  0, -60, 60, 0, 0,  20,  // read: key, strength, gate, shifts, sharpness
                     0,  0,  0, -60, 0,  0, 60, 20,  // write
                     60, 60,                         // erase
                     5,  -2});                       // add
  fill(model, "first_weights", {60, 0, 0, 0, 60, 0, 0, 0});
  fill(model, "first_memory", {1});
  SequenceState state = model.empty_state();
  for (int64_t t = 1; t <= 3; ++t) {
    state = std::move(model.step(at::randn({1, 3}), std::move(state)).state);
    const auto& now = state.as<TensorState>();
    at::Tensor expected = at::ones({4, 2});
    for (int64_t row = 1; row <= t; ++row) expected[row].copy_(at::tensor({5.0F, -2.0F}));
    EXPECT_TRUE(at::allclose(now.part(kNtmMemory)[0], expected, 0, 1e-5)) << t;
    EXPECT_NEAR(now.part(kNtmWeights)[0][0][4 - t].item<double>(), 1, 1e-5) << t;
    EXPECT_NEAR(now.part(kNtmWeights)[0][1][t].item<double>(), 1, 1e-5) << t;
    EXPECT_TRUE(at::allclose(now.part(kNtmReads)[0][0], expected[4 - t], 0, 1e-5)) << t;
  }
}

// Gates to content are open, keys are like row 2.
TEST(Ntm, HeadsFindAContent) {
  Ntm model(small_ntm());
  always_ask(model, {1,   1,   100, 60, 0, 60, 0, 0,  // read
                     1,   1,   100, 60, 0, 60, 0, 0,  // write
                     -60, -60, 0,   0});
  fill(model, "first_memory", {1, 0, 0, 1, 3, 3, -1, -1});
  const SequenceState state = model.step(at::randn({1, 3}), model.empty_state()).state;
  EXPECT_TRUE(
      at::allclose(state.as<TensorState>().part(kNtmReads)[0][0], at::tensor({3.0F, 3.0F})));
}

TEST(Ntm, WeightsAreDistributions) {
  NtmConfig config = small_ntm();
  config.heads = 3;
  Ntm model(config);
  const SequenceState state = model.read(at::randn({2, 9, 3}), model.empty_state()).state;
  const at::Tensor weights = state.as<TensorState>().part(kNtmWeights);
  EXPECT_TRUE(at::allclose(weights.sum(2), at::ones({2, 6})));
  EXPECT_GE(weights.min().item<double>(), 0);
}

// The authors' NTM of copy (controller 512) has 1,278,124 parameters. It has a second bias in its
// LSTM; ours also learns the first memory, the first reads and the first weights.
TEST(Ntm, HasTheParametersOfItsEquations) {
  const auto count = [](int64_t controller, int64_t heads) {
    const NtmConfig config{.controller = controller, .heads = heads};
    return Ntm(config, std::nullopt, at::kMeta).parameter_count();
  };
  EXPECT_EQ(count(512, 1), 1'278'124 - 4 * 512 + 128 * 32 + 32 + 2 * 128);
  EXPECT_EQ(count(256, 5), 4 * 256 * (34 + 256 + 5 * 32 + 1) + (256 + 1) * 5 * (38 + 38 + 64) +
                               32 * (256 + 5 * 32 + 1) + 128 * 32 + 5 * 32 + 10 * 128 + 2 * 256);
}

TEST(Ntm, RefusesSizesThatAreTogetherTooLarge) {
  NtmConfig config = small_ntm();
  config.heads = 4096;
  config.width = config.controller = int64_t{1} << 28;
  EXPECT_THAT(test::message_of<UsageError>([&] { Ntm model(config, std::nullopt, at::kMeta); }),
              HasSubstr("model.heads is 4096, model.width is 268435456: together too large"));
}

}  // namespace
}  // namespace tessera
