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
template <typename Scalar>
struct AdamWUpdate {
  AdamWCoefficients with;
  int64_t n = 0;
  const Scalar* gradient = nullptr;
  Scalar* value = nullptr;
  Scalar* m = nullptr;
  Scalar* v = nullptr;
};
TESSERA_OPTIMISER_LOOP(update_floats, AdamWUpdate<float>);
TESSERA_OPTIMISER_LOOP(update_doubles, AdamWUpdate<double>);

/// *sum = the sum of n squares, in double.
template <typename Scalar>
struct SquareSum {
  int64_t n = 0;
  const Scalar* x = nullptr;
  double* sum = nullptr;
};
TESSERA_OPTIMISER_LOOP(sum_squares_of_floats, SquareSum<float>);
TESSERA_OPTIMISER_LOOP(sum_squares_of_doubles, SquareSum<double>);

}  // namespace tessera::optimizer::cpu
