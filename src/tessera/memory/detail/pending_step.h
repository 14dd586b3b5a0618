#pragma once

#include <ATen/ATen.h>

namespace tessera {

/// A pending step [B, H, D], where there is one, and then those of a sequence [B, T, H, D].
inline at::Tensor after(const at::Tensor& step, const at::Tensor& sequence) {
  return step.defined() ? at::cat({step.unsqueeze(1), sequence}, 1) : sequence;
}

}  // namespace tessera
