#include "lab/learner/moons/complex_mosaic.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"

namespace tessera::task {
namespace {

/// Matrices of the network: [3, 3] real parts and no imaginary ones.
struct Matrices {
  at::Tensor key, value, output;
};

ComplexMosaic network(const Matrices& matrices) {
  at::NoGradGuard no_grad;
  ComplexMosaic model({}, 1);
  auto parameters = model.named_parameters();
  for (const auto& [name, real] :
       {std::pair("key", matrices.key), {"value", matrices.value}, {"output", matrices.output}})
    parameters[name].copy_(at::stack({real, at::zeros({3, 3})}, -1));
  return model;
}

at::Tensor rows(std::vector<float> values) {
  return at::tensor(values).view({3, 3});
}

/// Memory 1 has moon 2, memory 2 moon 3, memory 3 moon 1.
Matrices turned() {
  const at::Tensor read = rows({0, 2, 0, 0, 0, 3, 1, 0, 0});
  return {read, -read, read.t().contiguous()};
}

TEST(Disentanglement, ModuliAreThoseOfComplexNumbers) {
  const at::Tensor weight = at::tensor({3.0F, -4.0F, 0.0F, 1.0F}).view({1, 2, 2});
  EXPECT_TRUE(moduli(weight).equal(at::tensor({5.0F, 1.0F}).view({1, 2})));
  EXPECT_THROW(moduli(at::zeros({3, 3})), UsageError);
}

TEST(Disentanglement, AMemoryForEachMoon) {
  const auto found = disentanglement(network(turned()));
  EXPECT_TRUE(found.one_moon_each);
  EXPECT_EQ(found.moons, (std::array<int64_t, 3>{1, 2, 0}));
  EXPECT_NEAR(found.least_dominance, 1, 1e-6);
  EXPECT_TRUE(found.holds(0.99));
}

TEST(Disentanglement, TheWeakestRowOfAllMatricesCounts) {
  Matrices matrices = turned();
  matrices.value = rows({0.5, 2, 0, 0, 0, 3, 1, 0, 0});
  auto found = disentanglement(network(matrices));
  EXPECT_NEAR(found.least_dominance, 2 / 2.5, 1e-6);
  EXPECT_TRUE(found.holds(0.8 - 1e-6));
  EXPECT_FALSE(found.holds(0.85));
  // A row of W_z is what a moon is predicted from.
  matrices.output = rows({0, 0, 1, 2, 0, 2, 0, 3, 0});
  EXPECT_NEAR(disentanglement(network(matrices)).least_dominance, 0.5, 1e-6);
}

TEST(Disentanglement, TwoMemoriesOfOneMoonAreNone) {
  Matrices matrices = turned();
  matrices.key = rows({0, 2, 0, 0, 3, 0, 1, 0, 0});
  const auto found = disentanglement(network(matrices));
  EXPECT_FALSE(found.one_moon_each);
  EXPECT_NEAR(found.least_dominance, 1, 1e-6);
  EXPECT_FALSE(found.holds(0.5));
}

// Keys of one moon with values, or outputs, of another.
TEST(Disentanglement, AMemoryStoresAndPredictsTheMoonThatItLooksFor) {
  Matrices stored = turned();
  stored.value = rows({1, 0, 0, 0, 1, 0, 0, 0, 1});
  EXPECT_FALSE(disentanglement(network(stored)).one_moon_each);
  Matrices predicted = turned();
  predicted.output = predicted.key;
  EXPECT_FALSE(disentanglement(network(predicted)).one_moon_each);
}

TEST(Disentanglement, RefusesOtherNetworks) {
  EXPECT_THROW(disentanglement(ComplexMosaic({.inputs = 8, .heads = 1, .channels = 8}, 1)),
               UsageError);
}

}  // namespace
}  // namespace tessera::task
