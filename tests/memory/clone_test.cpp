// Copies of networks that hold memories.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/sequential.h>

#include "tessera/memory/mosaic/context_memory.h"
#include "tessera/memory/mosaic/persistent_memory.h"
#include "tessera/memory/mosaic/tiered_memory.h"
#include "tessera/memory/relational/two_memory_cell.h"
#include "tests/support/shake.h"

namespace tessera {
namespace {

const MemoryOptions kEightChannels{.channels = 8, .heads = 2, .bias = true};

TwoMemoryOptions cell_options() {
  TwoMemoryOptions options;
  options.inputs = 8;
  options.slots = 2;
  options.width = 4;
  options.projection_hidden = 3;
  options.alpha2 = {.value = 0.5, .learned = false};  // a buffer
  return options;
}

struct NetworkImpl : torch::nn::Cloneable<NetworkImpl> {
  NetworkImpl() { reset(); }
  void reset() final {
    context = register_module("context", ContextMemory(kEightChannels));
    persistent = register_module("persistent", PersistentMemory(kEightChannels, 5, 2));
    tiered = register_module("tiered", TieredMemory(kEightChannels, 2, 2));
    cell = register_module("cell", TwoMemoryCell(cell_options()));
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = tiered->forward(persistent->forward(context->forward(x)));
    TwoMemoryPass pass(cell, y.transpose(0, 1), {});
    for (int64_t t = 0; t < x.size(1); ++t) pass.step();
    return pass.relational_memory();
  }

  ContextMemory context = nullptr;
  PersistentMemory persistent = nullptr;
  TieredMemory tiered = nullptr;
  TwoMemoryCell cell = nullptr;
};

TEST(Clone, IsEqualAndIndependent) {
  at::NoGradGuard no_grad;
  at::manual_seed(1);
  NetworkImpl network;
  test::shake(network);
  network.cell->relational->alpha2.fill_(0.25);
  const at::Tensor x = at::randn({2, 5, 8}), expected = network.forward(x);
  const auto copied = network.clone();
  auto& copy = dynamic_cast<NetworkImpl&>(*copied);
  const auto expect_equal = [](const auto& tensors, const auto& copies) {
    ASSERT_EQ(copies.size(), tensors.size());
    for (const auto& item : tensors) {
      EXPECT_TRUE(copies[item.key()].equal(item.value())) << item.key();
      EXPECT_FALSE(copies[item.key()].is_alias_of(item.value())) << item.key();
      EXPECT_EQ(copies[item.key()].requires_grad(), item.value().requires_grad()) << item.key();
    }
  };
  expect_equal(network.named_parameters(), copy.named_parameters());
  expect_equal(network.named_buffers(), copy.named_buffers());
  EXPECT_TRUE(copy.forward(x).equal(expected));
  test::shake(copy);
  EXPECT_FALSE(copy.forward(x).equal(expected));
  EXPECT_TRUE(network.forward(x).equal(expected));
}

TEST(Clone, OfASequentialKeepsTheNumberType) {
  at::manual_seed(1);
  ContextMemory memory(kEightChannels);
  torch::nn::Sequential network(memory);
  network->to(at::kDouble);
  const at::Tensor x = at::randn({2, 5, 8}, at::kDouble);
  const auto copied = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(network->clone());
  EXPECT_TRUE(copied->forward(x).equal(memory->forward(x)));
}

}  // namespace
}  // namespace tessera
