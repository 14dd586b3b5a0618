#include "tessera/memory/mosaic/tiered_memory.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/memory/mosaic/persistent_memory.h"
#include "tests/support/numerical_gradient.h"

namespace tessera {
namespace {

MemoryOptions of_sizes(int64_t channels, int64_t heads) {
  return {.channels = channels, .heads = heads};
}

TieredMemory drawn_memory(int64_t short_term, int64_t delay) {
  TieredMemory memory(of_sizes(12, 3), short_term, delay);
  at::NoGradGuard no_grad;
  at::manual_seed(7);
  for (auto& parameter : memory->parameters()) parameter.normal_(0, 0.5);
  return memory;
}

/// One head of two channels; x is e_1, e_2, e_1. W_φ and W_ψ are the identity, so that ṽ = x. The
/// gates: g = 1 and λ = 1/2 at e_1, g = 3 and λ = 1/4 at e_2.
///   k̄ = (1, 0),  3 e_2 + k̄/4 = (1/4, 3),  e_1 + k̄/2 = (9/8, 3/2)
/// With γ = 1 and e^|θ| = 2 the values are 2 e_1 and 2 e_2. The last step reads both with
/// β(2) = 2^α + 3 = 5, α = 1.
TEST(ContextTier, HandExample) {
  ContextTier tier(of_sizes(2, 1));
  at::NoGradGuard no_grad;
  const auto set = [](const at::Tensor& parameter, const std::vector<double>& values) {
    parameter.copy_(at::tensor(values).view(parameter.sizes()));
  };
  set(tier->key->weight, {1, 0, 0, 1});
  set(tier->value->weight, {1, 0, 0, 1});
  set(tier->gates->weight, {0, std::log(3.0), -std::log(2.0), std::log(4.0)});
  set(tier->value_log_scale, {-std::log(2.0)});  // its magnitude counts
  set(tier->bandwidth_log_factor, {0});
  set(tier->bandwidth_log_offset, {std::log(3.0)});
  set(tier->bandwidth_exponent, {-1});
  set(tier->mix, {1});
  const at::Tensor x = at::tensor({1.0f, 0.0f, 0.0f, 1.0f, 1.0f, 0.0f}).view({1, 3, 2});

  const double length2 = std::sqrt(0.0625 + 9), length3 = std::sqrt(81.0 / 64 + 2.25);
  const double with_first = 9.0 / 8 / length3;
  const double with_second = (9.0 / 8 * 0.25 + 1.5 * 3) / (length2 * length3);
  const double first = std::exp(5 * with_first), second = std::exp(5 * with_second);
  const auto expect_read = [&](const at::Tensor& read, double y1, double y2) {
    EXPECT_NEAR(read[0].item<double>(), y1, 1e-5);
    EXPECT_NEAR(read[1].item<double>(), y2, 1e-5);
  };
  const at::Tensor all = tier->forward(x, {.delay = 1})[0].squeeze(1);  // [3, 2]
  expect_read(all[0], 0, 0);
  expect_read(all[1], 2, 0);
  expect_read(all[2], 2 * first / (first + second), 2 * second / (first + second));

  const at::Tensor last_pair = tier->forward(x, {.delay = 1, .pairs = 1})[0].squeeze(1);
  expect_read(last_pair[1], 2, 0);
  expect_read(last_pair[2], 0, 2);

  const at::Tensor delayed = tier->forward(x, {.delay = 2})[0].squeeze(1);
  expect_read(delayed[1], 0, 0);
  expect_read(delayed[2], 2, 0);

  set(tier->mix, {0.5});  // the direction of e_1 + e_2, whatever the weights
  expect_read(tier->forward(x, {.delay = 1})[0][2][0], std::sqrt(2.0), std::sqrt(2.0));
}

TEST(ContextTier, LastReadingIsHowTheLastStepReads) {
  TieredMemory memory = drawn_memory(3, 4);
  const at::Tensor x = at::randn({2, 9, 12});
  for (const TierReach reach : {TierReach{1, 3}, TierReach{4, 0}, TierReach{9, 0}}) {
    ContextTier tier = memory->short_term;
    const TierReading reading = tier->last_reading(x, reach);
    const int64_t count = reading.pairs.weights.size(2);
    EXPECT_EQ(count, reach.pairs > 0 ? 3 : 9 - reach.delay);
    EXPECT_EQ(reading.first_pair + count, 9 - reach.delay);
    const at::Tensor read = at::matmul(reading.pairs.weights.unsqueeze(2), reading.pairs.values);
    EXPECT_LT((read.squeeze(2) - tier->forward(x, reach).select(1, 8)).abs().max().item<double>(),
              1e-5);
  }
}

TEST(TieredMemory, NothingIsReadBeforeAPairMayBe) {
  TieredMemory memory = drawn_memory(3, 4);
  const at::Tensor x = at::randn({2, 5, 12});
  EXPECT_TRUE(memory->forward(x).select(1, 0).equal(at::zeros({2, 12})));
  EXPECT_TRUE(memory->read(x, TieredMemoryState()).first.select(1, 0).equal(at::zeros({2, 12})));
  EXPECT_EQ(memory->forward(x.narrow(1, 0, 0)).sizes(), (std::vector<int64_t>{2, 0, 12}));
  EXPECT_EQ(memory->read(x.narrow(1, 0, 0), TieredMemoryState()).first.sizes(),
            (std::vector<int64_t>{2, 0, 12}));
  EXPECT_EQ(memory->read(at::zeros({0, 3, 12}), TieredMemoryState()).first.sizes(),
            (std::vector<int64_t>{0, 3, 12}));
}

TEST(TieredMemory, KeepsWhatItsTiersMayStillRead) {
  TieredMemory memory = drawn_memory(3, 4);
  TieredMemoryState state;
  for (int64_t step = 0; step < 3; ++step)
    state = memory->read(at::randn({1, 5, 12}), std::move(state)).second;
  // 14 pairs are complete.
  EXPECT_EQ(state.short_term.memory.pairs.counts(), std::vector<int64_t>{3});
  EXPECT_EQ(state.long_term.waiting, std::vector<int64_t>{3});
  EXPECT_EQ(state.long_term.waiting_keys.size(1), 3);
  EXPECT_EQ(state.long_term.memory.pairs.counts(), std::vector<int64_t>{11});
}

TEST(TieredMemory, ABoundIsThatOfEachTier) {
  TieredMemory memory = drawn_memory(6, 2);
  TieredMemoryState state(PairOptions{.bound = {.pairs = 4, .eviction = Eviction::kLeastUsed}});
  state = memory->read(at::randn({1, 12, 12}), std::move(state)).second;
  EXPECT_EQ(state.short_term.memory.pairs.counts(), std::vector<int64_t>{4});
  EXPECT_EQ(state.long_term.memory.pairs.counts(), std::vector<int64_t>{4});
}

TEST(TieredMemory, GradientsAgreeWithCentralDifferences) {
  TieredMemory memory = drawn_memory(2, 3);
  memory->to(at::kDouble);
  std::vector<at::Tensor> inputs = {at::randn({1, 6, 12}, at::kDouble).requires_grad_(true)};
  for (auto* tier : {memory->short_term.get(), memory->long_term.get()})
    inputs.insert(inputs.end(),
                  {tier->mix, tier->value_log_scale, tier->bandwidth_log_offset,
                   tier->bandwidth_log_factor, tier->bandwidth_exponent, tier->gates->weight});
  const auto outputs = [&](const std::vector<at::Tensor>& in) { return memory->forward(in[0]); };
  EXPECT_TRUE(test::gradients_agree(outputs, inputs, 1e-5));
}

TEST(TieredMemory, RefusesStatesThatDoNotFit) {
  TieredMemory memory = drawn_memory(3, 4);
  const TieredMemoryState state = memory->read(at::randn({2, 9, 12}), TieredMemoryState()).second;
  TensorFile file;
  file.path = "state.safetensors";
  for (const auto& [name, tensor] : state.tensors("")) file.tensors[name] = tensor.clone();
  EXPECT_EQ(memory->state_from(file, "", {}).long_term.waiting, state.long_term.waiting);
  const auto refuses = [&](const std::string& name, const at::Tensor& tensor) {
    TensorFile changed = file;
    changed.tensors[name] = tensor;
    EXPECT_THROW(memory->state_from(changed, "", {}), DataError) << name;
  };
  refuses("long_term.waiting.counts", at::tensor({3, 2}, at::kLong));  // more are readable already
  refuses("long_term.waiting.counts", at::tensor({3, 4}, at::kLong));
  refuses("long_term.waiting.counts", at::tensor({3}, at::kLong));
  refuses("long_term.waiting.values", at::zeros({2, 2, 3, 4}));
  refuses("short_term.waiting.counts", at::tensor({1, 0}, at::kLong));
  refuses("short_term.leaky_key", at::zeros({1, 3, 4}));
  file.tensors.erase("long_term.pairs.keys");
  EXPECT_THROW(memory->state_from(file, "", {}), DataError);
  for (TieredMemory other : {drawn_memory(3, 5), drawn_memory(2, 4)})
    EXPECT_THROW(other->read(at::zeros({2, 1, 12}), state), UsageError);
  EXPECT_THROW(memory->read(at::zeros({3, 1, 12}), state), UsageError);
}

TEST(TieredMemory, RefusesImpossibleSizes) {
  EXPECT_THROW(TieredMemory(of_sizes(12, 3), 0, 4), UsageError);
  EXPECT_THROW(TieredMemory(of_sizes(12, 3), 3, 0), UsageError);
  for (const int64_t heads : {0, 5}) {
    EXPECT_THROW(TieredMemory(of_sizes(12, heads), 3, 4), UsageError);
    EXPECT_THROW(ContextMemory(of_sizes(12, heads)), UsageError);
    EXPECT_THROW(PersistentMemory(of_sizes(12, heads), 5, 1), UsageError);
  }
  EXPECT_THROW(PersistentMemory(of_sizes(12, 3), -1, 1), UsageError);
  EXPECT_THROW(PersistentMemory(of_sizes(12, 3), 5, 0), UsageError);
  TieredMemory memory = drawn_memory(3, 4);
  EXPECT_THROW(memory->forward(at::zeros({2, 5, 8})), UsageError);
  EXPECT_THROW(memory->read(at::zeros({2, 12}), TieredMemoryState()), UsageError);
  EXPECT_THROW(memory->forward(at::zeros({2, 5, 12}), {}, /*delay=*/0), UsageError);
  ContextTier tier = memory->long_term;
  EXPECT_THROW(tier->read(at::zeros({2, 5, 12}), ContextTierState(), /*delay=*/0), UsageError);
}

}  // namespace
}  // namespace tessera
