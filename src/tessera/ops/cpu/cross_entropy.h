#pragma once

#include <cstdint>

#include "tessera/ops/cpu/loop.h"

namespace tessera::ops::cpu {

/// Cross entropy of targets under the softmax of logit_scale * products, row by row. weights [rows]
/// are the rows' shares in the gradient; a weight of 0 leaves the row out.
struct CrossEntropy {
  int64_t rows = 0, V = 0;
  float* products = nullptr;  // [rows, V]; with wants_gradient replaced by their gradient
  float logit_scale = 1;
  const int64_t* targets = nullptr;  // [rows], in [0, V)
  const float* weights = nullptr;
  bool wants_gradient = false;
  float* losses = nullptr;  // [rows], without the weights
};
TESSERA_LOOP(cross_entropy, CrossEntropy);

}  // namespace tessera::ops::cpu
