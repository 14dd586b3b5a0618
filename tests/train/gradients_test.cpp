#include "tessera/train/detail/gradients.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <chrono>
#include <future>
#include <vector>

#include "tessera/train/learner.h"
#include "tests/train/in_processes.h"
#include "tests/train/trainer_fixture.h"

namespace tessera {
namespace {

using test::in_processes;

constexpr int64_t kBucket = 1 << 20;  // elements that fill a bucket

at::Tensor leaf_of(at::IntArrayRef sizes, double value, at::ScalarType type = at::kFloat) {
  return at::full(sizes, value, type).requires_grad_(true);
}

TEST(GradientSums, AreThoseOfAllProcesses) {
  in_processes(3, [](Processes& processes) {
    const double own = static_cast<double>(processes.rank() + 1);
    const at::Tensor matrix = leaf_of({2, 3}, 0.5), scalar = leaf_of({}, 2, at::kDouble);
    const at::Tensor long_one = leaf_of({kBucket + 5}, 1), unused = leaf_of({4}, 1);
    const at::Tensor of_one = leaf_of({3}, 1), empty = leaf_of({0}, 1);
    GradientSums sums(processes, {{"matrix", matrix},
                                  {"scalar", scalar},
                                  {"long", long_one},
                                  {"unused", unused},
                                  {"of_one", of_one},
                                  {"empty", empty},
                                  {"tied", matrix}});
    at::Tensor loss = own * (matrix.sum() + 2 * long_one.sum()) + own * scalar + empty.sum();
    if (processes.rank() == 1) loss = loss + 7 * of_one.sum();
    loss.backward();
    sums.wait();
    const auto gradient_is = [](const at::Tensor& parameter, double value) {
      return parameter.grad().sizes() == parameter.sizes() &&
             parameter.grad().eq(value).all().item<bool>();
    };
    EXPECT_TRUE(gradient_is(matrix, 1 + 2 + 3));
    EXPECT_TRUE(gradient_is(scalar, 6));
    EXPECT_TRUE(gradient_is(long_one, 12));
    EXPECT_TRUE(gradient_is(unused, 0));
    EXPECT_TRUE(gradient_is(of_one, 7));
    EXPECT_TRUE(gradient_is(empty, 0));
    EXPECT_EQ(scalar.grad().scalar_type(), at::kDouble);
  });
}

TEST(GradientSums, AddToGradientsOfEarlierPasses) {
  in_processes(2, [](Processes& processes) {
    const at::Tensor weight = leaf_of({3}, 1);
    (10 * weight.sum()).backward();
    {
      GradientSums sums(processes, {{"weight", weight}});
      weight.sum().backward();
      sums.wait();
    }
    EXPECT_TRUE(weight.grad().eq(22).all().item<bool>());
    weight.mutable_grad().reset();
    weight.sum().backward();  // no longer watched
    EXPECT_TRUE(weight.grad().eq(1).all().item<bool>());
  });
}

TEST(GradientSums, AreSentDuringTheBackwardPass) {
  std::promise<void> last_is_summed;
  bool during_the_pass = false;
  in_processes(2, [&](Processes& processes) {
    if (!processes.leads()) {  // exchanges two buckets by hand
      processes.start_sum(at::ones({kBucket})).get();
      last_is_summed.set_value();
      processes.start_sum(at::ones({kBucket})).get();
      return;
    }
    const at::Tensor first = leaf_of({kBucket}, 2), last = leaf_of({kBucket}, 3);
    const at::Tensor hidden = first * 1.0;
    // The pass waits here, between the two parameters, until the sum of the last one is made.
    hidden.register_hook([&](const at::Tensor&) {
      during_the_pass = last_is_summed.get_future().wait_for(std::chrono::seconds(30)) ==
                        std::future_status::ready;
    });
    GradientSums sums(processes, {{"first", first}, {"last", last}});
    (hidden * last).sum().backward();
    sums.wait();
    EXPECT_TRUE(first.grad().eq(3 + 1).all().item<bool>());
    EXPECT_TRUE(last.grad().eq(2 + 1).all().item<bool>());
  });
  EXPECT_TRUE(during_the_pass);
}

/// 2^-120 · 2^-10, which float holds only as a denormal number.
float tiny_product() {
  volatile float small = 0x1p-120f, factor = 0x1p-10f;
  return small * factor;
}

/// The same in each of the threads of a parallel region.
std::vector<float> tiny_products() {
  std::vector<float> products(omp_get_max_threads());
#pragma omp parallel for schedule(static, 1)
  for (size_t i = 0; i < products.size(); ++i) products[i] = tiny_product();
  return products;
}

struct FlushDenormalsTest : testing::Test {
  void SetUp() override {
    if (!at::globalContext().setFlushDenormal(false)) GTEST_SKIP() << "this processor cannot";
  }
};

TEST_F(FlushDenormalsTest, TinyProductsAreZeroInEveryThreadWhileItLives) {
  const std::vector<float> before(omp_get_max_threads(), 0x1p-130f);
  EXPECT_EQ(tiny_products(), before);
  {
    const FlushDenormals flush;
    EXPECT_EQ(tiny_products(), std::vector<float>(omp_get_max_threads()));
    { const FlushDenormals again; }
    EXPECT_EQ(tiny_product(), 0);
  }
  EXPECT_EQ(tiny_products(), before);
}

TEST_F(FlushDenormalsTest, LivesAsLongAsATraining) {
  test::TemporaryFolder folder;
  test::TinyNetwork network;
  test::TinyLearner learner(network, test::tiny_config());
  std::vector<float> seen;
  learner.evaluation = [&] {
    seen.push_back(tiny_product());
    return Metrics{{"loss", 1}};
  };
  train(learner, RunFolder(folder / "run", Start::kNew), nullptr, "tiny");
  EXPECT_EQ(seen, std::vector<float>(3));
  EXPECT_EQ(tiny_product(), 0x1p-130f);
}

}  // namespace
}  // namespace tessera
