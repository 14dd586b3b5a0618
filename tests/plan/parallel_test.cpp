#include "tessera/plan/parallel.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace tessera::theory {
namespace {

/// Two threads for OpenMP and for OpenBLAS, and afterwards what each had.
class ParallelTest : public ::testing::Test {
 protected:
  ParallelTest() {
    openblas_set_num_threads(2);
    omp_set_num_threads(2);
  }
  ~ParallelTest() override {
    openblas_set_num_threads(blas_);
    omp_set_num_threads(openmp_);
  }

 private:
  const int openmp_ = omp_get_max_threads(), blas_ = openblas_get_num_threads();
};

TEST_F(ParallelTest, BothThreadsAreAtWorkAtOneTime) {
  if (omp_get_thread_limit() < 2) GTEST_SKIP() << "OpenMP may start no second thread here";
  std::atomic<int> begun = 0;
  const auto sees_the_other = parallel_runs(2, [&](int64_t) {
    ++begun;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    while (begun < 2 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    return begun == 2 ? 1 : 0;
  });
  EXPECT_EQ(sees_the_other, (std::vector<int>{1, 1}));
}

TEST_F(ParallelTest, OpenMPKeepsItsThreads) {
  omp_set_num_threads(3);
  {
    const SerialBlas serial_blas;
    EXPECT_EQ(openblas_get_num_threads(), 1);
    EXPECT_EQ(omp_get_max_threads(), 3);
  }
  EXPECT_EQ(openblas_get_num_threads(), 2);
  EXPECT_EQ(omp_get_max_threads(), 3);
}

/// As two plans do that a server makes at one time.
TEST_F(ParallelTest, TheLastOfSeveralGivesOpenBLASItsThreadsBack) {
  auto first = std::make_unique<SerialBlas>(), second = std::make_unique<SerialBlas>();
  first.reset();
  EXPECT_EQ(openblas_get_num_threads(), 1);
  second.reset();
  EXPECT_EQ(openblas_get_num_threads(), 2);
}

}  // namespace
}  // namespace tessera::theory
