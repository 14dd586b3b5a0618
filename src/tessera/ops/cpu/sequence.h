#pragma once

#include <cstdint>

namespace tessera::ops::cpu {

/// A float tensor [batch, time, head, D] by its strides in elements; D is contiguous.
struct Sequence {
  float* data = nullptr;
  int64_t batch_stride = 0;
  int64_t time_stride = 0;
  int64_t head_stride = 0;

  float* row(int64_t b, int64_t t, int64_t h) const {
    return data + b * batch_stride + t * time_stride + h * head_stride;
  }
};

}  // namespace tessera::ops::cpu
