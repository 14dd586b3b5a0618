#pragma once

#include <cstdint>

#include "tessera/train/cpu/adamw.h"

namespace tessera::train::cpu {

/// The loops of the optimiser as one instruction set has them, on the calling thread.
struct Loops {
  void (*update_floats)(const AdamWUpdate<float>&);
  void (*update_doubles)(const AdamWUpdate<double>&);
  /// Sums of squares, in double.
  double (*square_sum_of_floats)(int64_t n, const float* x);
  double (*square_sum_of_doubles)(int64_t n, const double* x);
};

/// The fastest that may run here.
const Loops& loops();

}  // namespace tessera::train::cpu
