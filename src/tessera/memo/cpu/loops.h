#pragma once

#include <span>

#include "tessera/simd/builds.h"

namespace tessera::memo::cpu {

struct SignTranspose;
struct SignProducts;
struct CorrelationRead;
struct DigitPlanes;
struct NibbleProducts;
struct WindowProducts;
struct KeyRounding;
struct HadamardScores;

/// The loops over whole numbers, as compiled for one instruction set; every set gives the same
/// bits. They run on OpenMP's threads; their results do not depend on the number of threads.
struct IntegerLoops {
  void (*sign_transpose)(const SignTranspose&);
  void (*sign_products)(const SignProducts&);
  void (*correlation_read)(const CorrelationRead&);
  void (*digit_planes)(const DigitPlanes&);
  void (*nibble_products)(const NibbleProducts&);
  void (*window_products)(const WindowProducts&);
  void (*key_rounding)(const KeyRounding&);
  void (*hadamard_scores)(const HadamardScores&);
};

/// The fastest that may run here.
const IntegerLoops& integer_loops();
/// All that may run here: for tests, which compare them.
std::span<const simd::Build<IntegerLoops>> runnable_integer_loops();

}  // namespace tessera::memo::cpu
