#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/random.h"

namespace tessera::task {

/// The random numbers of a sample: one stream for the sizes that a batch may share, one for the
/// rest.
RandomStream size_stream(uint64_t seed, int64_t index);
RandomStream content_stream(uint64_t seed, int64_t index);

/// The size of sample `index`, from low to high: of each high - low + 1 consecutive samples every
/// one has another size, in random order, so that no set has more of the long ones than another.
int64_t draw_size(uint64_t seed, int64_t index, int64_t low, int64_t high);

/// A whole number from low to high, both included.
int64_t draw_between(RandomStream& random, int64_t low, int64_t high);

/// `count` different numbers of {0, …, n - 1} in random order; count <= n.
std::vector<int64_t> draw_distinct(RandomStream& random, int64_t n, int64_t count);

/// {0, …, n - 1} in random order.
std::vector<int64_t> draw_permutation(RandomStream& random, int64_t n);

}  // namespace tessera::task
