#pragma once

#include <cstdint>

#include "tessera/simd/instruction_set.h"

/// Declares the loop `name` over `Arguments`, on the calling thread.
#define TESSERA_OPTIMISER_LOOP(name, Arguments)                                            \
  TESSERA_BUILD(baseline, name, Arguments)                                                 \
  TESSERA_X86(TESSERA_BUILD(avx2, name, Arguments) TESSERA_BUILD(avx512, name, Arguments)) \
  inline constexpr simd::Loop<Arguments, 1 TESSERA_X86(+2)> name = {                       \
      {{simd::InstructionSet::kBaseline, baseline::name},                                  \
       TESSERA_X86({simd::InstructionSet::kAvx2, avx2::name},                              \
                   {simd::InstructionSet::kAvx512, avx512::name})}}

namespace tessera::optimizer::cpu {

/// What one update does to every element: the coefficients of AdamW, worked out in double.
struct AdamWCoefficients {
  double keep;        ///< 1 - rate * decay
  double rate;        ///< rate / (1 - beta1^t)
  double root_scale;  ///< 1 / sqrt(1 - beta2^t)
  double beta1, beta2, epsilon;
  double gradient_scale;
};

/// One update of n elements.
struct AdamWUpdate {
  AdamWCoefficients with;
  int64_t n = 0;
  const float* gradient = nullptr;
  float* value = nullptr;
  float* m = nullptr;
  float* v = nullptr;
};
TESSERA_OPTIMISER_LOOP(update, AdamWUpdate);

/// *sum = the sum of n squares, in double.
struct SquareSum {
  int64_t n = 0;
  const float* x = nullptr;
  double* sum = nullptr;
};
TESSERA_OPTIMISER_LOOP(sum_squares, SquareSum);

}  // namespace tessera::optimizer::cpu
