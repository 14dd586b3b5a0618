#include "lab/baseline/dnc.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lab/baseline/tensor_state.h"
#include "tessera/base/error.h"
#include "tests/model/by_hand.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::fill;
using testing::HasSubstr;

enum Part : size_t { kMemory, kUsage, kPrecedence, kLinks, kWriteWeights, kReadWeights, kReads };

DncConfig small_dnc() {
  return {.inputs = 3, .controller = 4, .slots = 4, .width = 2, .read_heads = 1};
}

/// A network that in every step writes (5, -2) into the least used row, whatever it reads. free:
/// the logit of the read head's free gate; modes: the logits of its modes.
Dnc writer(double free, const std::vector<double>& modes) {
  Dnc model(small_dnc());
  std::vector<double> interface = {1,    0,  0,      // read key and strength
                                   0,    0,  0,      // write key and strength
                                   60,   60, 5, -2,  // erase, add
                                   free, 60, 60};    // free, allocation and write gate
  interface.insert(interface.end(), modes.begin(), modes.end());
  fill(model, "interface.weight", {0});
  fill(model, "interface.bias", interface);
  return model;
}

TEST(Dnc, WritesTheLeastUsedRowsAndLinksThemInTheirOrder) {
  Dnc model = writer(-60, {0, 0, 60});
  SequenceState state = model.empty_state();
  std::vector<int64_t> rows;  // of equally unused ones any may be next
  for (int64_t t = 0; t < 3; ++t) {
    state = std::move(model.step(at::randn({1, 3}), std::move(state)).state);
    const auto& now = state.as<TensorState>();
    const int64_t row = now.part(kWriteWeights)[0].argmax().item<int64_t>();
    EXPECT_EQ(std::count(rows.begin(), rows.end(), row), 0) << t;
    rows.push_back(row);
    EXPECT_NEAR(now.part(kWriteWeights)[0][row].item<double>(), 1, 1e-4) << t;
    EXPECT_NEAR(now.part(kPrecedence)[0][row].item<double>(), 1, 1e-4) << t;
    EXPECT_TRUE(at::allclose(now.part(kMemory)[0][row], at::tensor({5.0F, -2.0F}), 0, 1e-4)) << t;
  }
  at::Tensor links = at::zeros({4, 4}), usage = at::zeros({4});
  links[rows[1]][rows[0]] = links[rows[2]][rows[1]] = 1;
  EXPECT_TRUE(at::allclose(state.as<TensorState>().part(kLinks)[0], links, 0, 1e-4));
  // The usage of the last written row counts from the next step on.
  usage[rows[0]] = usage[rows[1]] = 1;
  EXPECT_TRUE(at::allclose(state.as<TensorState>().part(kUsage)[0], usage, 0, 1e-4));
}

// The head reads by content, (1, 0) being most like what was written first: row 0. A row that was
// read is free, and is written again.
TEST(Dnc, RowsThatAreReadCanBeFreed) {
  Dnc model = writer(60, {0, 60, 0});
  model.named_parameters()["interface.bias"].detach()[2] = 200;
  fill(model, "first_memory", {-1, 0, -1, 0, -1, 0, -1, 0});
  const SequenceState state = model.read(at::randn({1, 3, 3}), model.empty_state()).state;
  const auto& now = state.as<TensorState>();
  EXPECT_NEAR(now.part(kReadWeights)[0][0][0].item<double>(), 1, 1e-4);
  EXPECT_NEAR(now.part(kWriteWeights)[0][0].item<double>(), 1, 1e-4);
  EXPECT_TRUE(at::allclose(now.part(kReads)[0][0], at::tensor({5.0F, -2.0F}), 0, 1e-3));
  EXPECT_LT(now.part(kUsage).max().item<double>(), 1e-4);
}

TEST(Dnc, ItsStateStaysWithinTheBoundsOfThePaper) {
  DncConfig config = small_dnc();
  config.read_heads = 3;
  Dnc model(config);
  SequenceState state = model.empty_state();
  for (int64_t t = 0; t < 12; ++t) {
    state = std::move(model.step(3 * at::randn({2, 3}), std::move(state)).state);
    const auto& now = state.as<TensorState>();
    for (const at::Tensor& part : {now.part(kUsage), now.part(kLinks), now.part(kPrecedence),
                                   now.part(kWriteWeights), now.part(kReadWeights)}) {
      EXPECT_GE(part.min().item<double>(), -1e-6);
      EXPECT_LE(part.max().item<double>(), 1 + 1e-6);
    }
    EXPECT_LE(now.part(kWriteWeights).sum(1).max().item<double>(), 1 + 1e-5);
    EXPECT_LE(now.part(kReadWeights).sum(2).max().item<double>(), 1 + 1e-5);
    EXPECT_LE(now.part(kLinks).sum(1).max().item<double>(), 1 + 1e-5);
    EXPECT_LE(now.part(kLinks).sum(2).max().item<double>(), 1 + 1e-5);
    EXPECT_EQ(now.part(kLinks).diagonal(0, 1, 2).abs().max().item<double>(), 0);
  }
}

TEST(Dnc, HasTheParametersOfItsEquations) {
  // LSTM, interface R W + 3 W + 5 R + 3, head, first memory, reads and controller state
  EXPECT_EQ(Dnc(DncConfig(), std::nullopt, at::kMeta).parameter_count(),
            4 * 256 * (34 + 256 + 4 * 64 + 1) + (256 + 1) * (4 * 64 + 3 * 64 + 5 * 4 + 3) +
                32 * (256 + 4 * 64 + 1) + 20 * 64 + 4 * 64 + 2 * 256);
}

TEST(Dnc, RefusesSizesThatAreTogetherTooLarge) {
  DncConfig config = small_dnc();
  config.read_heads = 4096;
  config.width = config.controller = int64_t{1} << 28;
  EXPECT_THAT(test::message_of<UsageError>([&] { Dnc model(config, std::nullopt, at::kMeta); }),
              HasSubstr("model.read_heads is 4096, model.width is 268435456: together too large"));
}

}  // namespace
}  // namespace tessera
