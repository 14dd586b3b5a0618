// Memory units as layers of a network of one's own.

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include "tessera/base/error.h"
#include "tessera/memory/mosaic/context_memory.h"
#include "tessera/memory/mosaic/persistent_memory.h"
#include "tessera/memory/mosaic/tiered_memory.h"

namespace tessera {
namespace {

const MemoryOptions kTwelveChannels{.channels = 12, .heads = 3};

TEST(MemoryLayer, StandsInASequential) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({2, 5, 12});
  ContextMemory context(kTwelveChannels);
  PersistentMemory persistent(kTwelveChannels, /*slots=*/7);
  TieredMemory tiered(kTwelveChannels, /*short_term=*/3, /*delay=*/2);
  torch::nn::Linear linear(12, 4);
  torch::nn::Sequential network(context, persistent, tiered, linear);
  const at::Tensor expected =
      linear->forward(tiered->forward(persistent->forward(context->forward(x))));
  EXPECT_TRUE(network->forward(x).equal(expected));
}

TEST(MemoryLayer, SlotsThatAreToLearnDifferAtFirst) {
  at::manual_seed(1);
  const PersistentMemory drawn(kTwelveChannels, /*slots=*/500);
  for (const at::Tensor& slots : {drawn->slot_keys, drawn->slot_values}) {
    EXPECT_EQ(slots.sizes(), at::IntArrayRef({1, 3, 500, 4}));
    EXPECT_TRUE(slots.requires_grad());
    EXPECT_NEAR(slots.std().item<double>(), 0.5, 0.02);  // 1 / sqrt(4), within four deviations
  }
  EXPECT_FALSE(drawn->slot_keys.equal(drawn->slot_values));
  const PersistentMemory zero(kTwelveChannels, 500, /*count=*/2, FirstSlots::kZero);
  EXPECT_TRUE(zero->slot_keys.equal(at::zeros({2, 3, 500, 4})));
}

TEST(MemoryLayer, NothingIsReadAtTheEndOfNoSteps) {
  const at::Tensor none = at::zeros({2, 0, 12}), flat = at::zeros({12});
  ContextMemory context(kTwelveChannels);
  PersistentMemory persistent(kTwelveChannels, 7);
  TieredMemory tiered(kTwelveChannels, 3, 2);
  for (const at::Tensor& x : {none, flat}) {
    EXPECT_THROW(context->last_reading(x), UsageError);
    EXPECT_THROW(persistent->slot_weights(x), UsageError);
    EXPECT_THROW(tiered->last_readings(x), UsageError);
  }
}

TEST(MemoryLayer, SlotsAreReadFromAStepThatThereIs) {
  PersistentMemory memory(kTwelveChannels, /*slots=*/7);
  const at::Tensor x = at::zeros({2, 5, 12});
  EXPECT_EQ(memory->slot_weights(x, 5).sizes(), at::IntArrayRef({2, 0, 3, 7}));
  EXPECT_THROW(memory->slot_weights(x, -1), UsageError);
  EXPECT_THROW(memory->slot_weights(x, 6), UsageError);
}

/// A layer whose parameters and inputs have fewer bits says what it reads in numbers like its own.
TEST(MemoryLayer, SlotsOfABFloat16LayerAreThoseThatItReads) {
  at::manual_seed(2);
  PersistentMemory memory(kTwelveChannels, /*slots=*/7, /*count=*/2);
  const at::Tensor x = at::randn({2, 5, 12});
  const at::Tensor weights = memory->slot_weights(x), contents = memory->slot_contents();
  memory->to(at::kBFloat16);
  const at::Tensor rounded = memory->slot_weights(x.to(at::kBFloat16), /*first=*/1);
  EXPECT_EQ(rounded.scalar_type(), at::kBFloat16);
  EXPECT_EQ(memory->slot_contents().scalar_type(), at::kBFloat16);
  EXPECT_LT((rounded.to(at::kFloat) - weights.slice(1, 1)).abs().max().item<double>(), 0.05);
  EXPECT_TRUE(at::allclose(memory->slot_contents().to(at::kFloat), contents, 0.02, 0.02));
  // The reading, projected: [B, t, H, P * M] [H, P * M, D].
  const at::Tensor read = at::einsum("bthm,hmd->bthd", {rounded, memory->slot_contents()});
  EXPECT_TRUE(at::allclose(memory->output(read.flatten(2)).to(at::kFloat),
                           memory->forward(x.to(at::kBFloat16)).slice(1, 1).to(at::kFloat), 0,
                           0.03));
}

TEST(MemoryLayer, ABFloat16LayerReadsBoundedPairs) {
  at::manual_seed(3);
  ContextMemory memory(kTwelveChannels);
  const at::Tensor x = at::randn({2, 9, 12});
  const auto read = [&](const at::Tensor& input) {
    return memory->read(input, ContextMemoryState({.bound = {3, Eviction::kOldest}})).first;
  };
  const at::Tensor expected = read(x);
  memory->to(at::kBFloat16);
  const at::Tensor rounded = read(x.to(at::kBFloat16));
  EXPECT_EQ(rounded.scalar_type(), at::kBFloat16);
  EXPECT_LT((rounded.to(at::kFloat) - expected).abs().max().item<double>(), 0.05);
}

TEST(MemoryLayer, AStateRefusesRowsThatItDoesNotHave) {
  ContextMemory memory(kTwelveChannels);
  const ContextMemoryState state = memory->read(at::zeros({2, 5, 12}), {}).second;
  EXPECT_EQ(state.select({1, 0, 1}).rows(), 3);
  EXPECT_THROW(state.select({2}), UsageError);
  EXPECT_THROW(state.select({-1}), UsageError);
}

}  // namespace
}  // namespace tessera
