#include "tessera/simd/threads.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

namespace tessera::simd {
namespace {

bool starts_a_cache_line(const float* memory) {
  return reinterpret_cast<uintptr_t>(memory) % 64 == 0;
}

TEST(Scratch, DividesMemoryIntoPieces) {
  const std::vector<int64_t> counts = {1, 16, 0, 17, 64};
  Scratch sizes;
  for (const int64_t count : counts) EXPECT_EQ(sizes.floats(count), nullptr);
  const ThreadMemory memory(1, sizes.size());
  std::fill_n(memory.of(0), sizes.size(), -1.0f);
  Scratch scratch(memory.of(0));
  const float* end = memory.of(0);
  for (const int64_t count : counts) {
    float* piece = scratch.zeros(count);
    EXPECT_TRUE(starts_a_cache_line(piece));
    EXPECT_GE(piece, end) << "overlaps the piece before it";
    EXPECT_EQ(std::count(piece, piece + count, 0.0f), count);
    end = piece + count;
  }
  EXPECT_EQ(scratch.size(), sizes.size());
  EXPECT_LE(end, memory.of(0) + sizes.size());
}

TEST(ThreadMemory, IsEachThreadsOwn) {
  constexpr int64_t kFloats = 1000;
  const int threads = region_threads();
  const ThreadMemory memory(threads, kFloats);
  // One thread fills several parts where OpenMP may not start so many.
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int thread = 0; thread < threads; ++thread)
    std::fill_n(memory.of(thread), kFloats, static_cast<float>(thread));
  for (int thread = 0; thread < threads; ++thread) {
    const float* part = memory.of(thread);
    EXPECT_TRUE(starts_a_cache_line(part));
    EXPECT_EQ(std::count(part, part + kFloats, static_cast<float>(thread)), kFloats);
  }
}

TEST(ThreadMemory, ThatDoesNotExistThrows) {
  EXPECT_THROW(ThreadMemory(2, INT64_MAX), std::bad_alloc);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which would abort
  EXPECT_THROW(ThreadMemory(2, (int64_t{1} << 45) - 64), std::bad_alloc);
#endif
  EXPECT_TRUE(starts_a_cache_line(ThreadMemory(1, 0).of(0)));
}

TEST(RegionThreads, AreOneForLittleWorkAndInsideOtherRegions) {
  EXPECT_EQ(region_threads(), omp_get_max_threads());
  EXPECT_EQ(region_threads(/*worth_threads=*/false), 1);
  int inside = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  inside = omp_in_parallel() ? region_threads() : 1;
  EXPECT_EQ(inside, 1);
}

}  // namespace
}  // namespace tessera::simd
