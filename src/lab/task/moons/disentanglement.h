#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

#include "lab/task/moons/three_moons.h"
#include "tessera/model/complex_mosaic.h"

namespace tessera::task {

/// The absolute values of complex weights: [out, in, 2] -> [out, in].
at::Tensor moduli(const at::Tensor& weight);

/// How three memories of a complex channel each divide three moons among themselves.
struct Disentanglement {
  /// In a row of W_phi, W_psi or W_z: the largest modulus over the sum of all three. Here the least
  /// of the nine rows: 1/3 where a row does not tell the moons apart, 1 where each row has one
  /// entry.
  double least_dominance = 0;
  /// The moon whose modulus is the largest in each memory's row of W_phi.
  std::array<int64_t, kMoons> moons{};
  /// Whether these are three different moons, and W_psi and W_z have their largest moduli at the
  /// same ones: each memory stores and predicts the moon that it looks for.
  bool one_moon_each = false;

  bool holds(double dominance) const { return one_moon_each && least_dominance >= dominance; }
};

/// Throws UsageError on a network that is not of 3 complex inputs, outputs and channels.
Disentanglement disentanglement(const ComplexMosaic& model);

}  // namespace tessera::task
