#pragma once

// Only for *.isa.cpp files. Scalar functions without branches, which loops marked `omp simd` turn
// into vectors.

namespace tessera::ops::cpu::TESSERA_ISA {

/// tanh(x), absolute error below 3e-7; NaN stays NaN. A quotient of polynomials in x, of degree 13
/// over 6, with the coefficients of Eigen's float tanh.
inline float hyperbolic_tangent(float x) {
  constexpr float kLast = 7.90531110763549805f;  // beyond, tanh is 1 in float
  const float below = x > kLast ? kLast : x;
  const float y = below < -kLast ? -kLast : below;
  const float square = y * y;
  float numerator = -2.76076847742355e-16f * square + 2.00018790482477e-13f;
  numerator = numerator * square - 8.60467152213735e-11f;
  numerator = numerator * square + 5.12229709037114e-08f;
  numerator = numerator * square + 1.48572235717979e-05f;
  numerator = numerator * square + 6.37261928875436e-04f;
  numerator = numerator * square + 4.89352455891786e-03f;
  float denominator = 1.19825839466702e-06f * square + 1.18534705686654e-04f;
  denominator = denominator * square + 2.26843463243900e-03f;
  denominator = denominator * square + 4.89352518554385e-03f;
  return y * numerator / denominator;
}

/// 1 / (1 + e^-x), absolute error below 3e-7.
inline float logistic(float x) {
  return 0.5f + 0.5f * hyperbolic_tangent(0.5f * x);
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
