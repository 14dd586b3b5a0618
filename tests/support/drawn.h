#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

namespace tessera::test {

/// Double tensor of normal numbers with mean 0, the same for the same seed.
inline at::Tensor drawn(at::IntArrayRef sizes, int64_t seed, double deviation = 1) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return at::empty(sizes, at::kDouble).normal_(0, deviation, generator);
}

}  // namespace tessera::test
