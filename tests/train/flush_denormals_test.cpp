#include "tessera/train/detail/flush_denormals.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <vector>

#include "tessera/train/training.h"
#include "tests/train/trainer_fixture.h"

namespace tessera {
namespace {

/// 2^-120 · 2^-10, which float holds only as a denormal number.
float tiny_product() {
  volatile float small = 0x1p-120f, factor = 0x1p-10f;
  return small * factor;
}

/// The same in each of the threads of a parallel region.
std::vector<float> tiny_products() {
  std::vector<float> products(omp_get_max_threads());
#pragma omp parallel
  products[omp_get_thread_num()] = tiny_product();
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
