#pragma once

#include <cfenv>

namespace tessera {

/// While it lives, floats below 2^-126 and doubles below 2^-1022 count as 0 in this thread and in
/// those of the parallel regions that it begins, where LibTorch can say so to the processor
/// (x86-64). Gradients of what decays step by step are full of them, and Intel processors multiply
/// them slowly: bench/RESULTS.md.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace tessera
