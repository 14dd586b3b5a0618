#pragma once

// Tensors as the loops see them.

#include <cstdint>

#include "tessera/ops/number_formats.h"

namespace tessera::ops::cpu {

/// A float tensor [B, T, H, D] by its strides in elements; D is contiguous.
struct Sequence {
  float* data = nullptr;
  int64_t B = 0, T = 0, H = 0, D = 0;
  int64_t batch_stride = 0;
  int64_t time_stride = 0;
  int64_t head_stride = 0;

  float* row(int64_t b, int64_t t, int64_t h) const {
    return data + b * batch_stride + t * time_stride + h * head_stride;
  }
  int64_t numel() const { return B * T * H * D; }
};

typedef uint16_t BFloat16;  // the upper half of a float

/// Rows of weights, one after the other, as ops/weights.h keeps them.
struct WeightRows {
  const void* data = nullptr;
  WeightType type = WeightType::kFloat32;

  template <typename Element>
  const Element* as() const {
    return static_cast<const Element*>(data);
  }
};

/// Vectors in whole numbers from -127 to 127 with a scale for every kWeightBlock of them: what
/// weights of 8 bits are multiplied with.
struct Int8Vectors {
  int64_t rows = 0, length = 0;  // of floats
  int8_t* values = nullptr;      // [rows, blocks, kWeightBlock], zeros behind the length
  float* scales = nullptr;       // [rows, blocks]

  int64_t blocks() const { return weight_blocks(length); }
  /// Floats of memory for both, values first.
  int64_t size() const { return rows * blocks() * (kWeightBlock / 4 + 1); }
  void lie_in(float* memory) {
    values = reinterpret_cast<int8_t*>(memory);
    scales = memory + rows * blocks() * (kWeightBlock / 4);
  }
};

/// y_r = weight x_r + bias.
struct Products {
  int64_t rows = 0, inputs = 0, outputs = 0;
  const float* x = nullptr;     // [rows, inputs]
  WeightRows weight;            // [outputs, inputs]
  const float* bias = nullptr;  // [outputs] or null
  float* y = nullptr;           // [rows, outputs]
  Int8Vectors rounded = {};     // x, for weights of 8 bits
};

/// A tensor [B, T, H, D] of weights by its strides in elements; those of a row lie together.
struct WeightSequence {
  WeightRows rows;
  int64_t batch_stride = 0;
  int64_t time_stride = 0;
  int64_t head_stride = 0;

  template <typename Element>
  const Element* row(int64_t b, int64_t t, int64_t h) const {
    return rows.as<Element>() + b * batch_stride + t * time_stride + h * head_stride;
  }
};

/// Elements from one row of `columns` weights to the next, as the type of Element keeps them.
template <typename Element>
constexpr int64_t row_elements(int64_t columns) {
  return sizeof(Element) == 1 ? int8_row_bytes(columns) : columns;
}

/// Calls work(Element()) with the element in which rows of this type are kept: float, BFloat16 or
/// int8_t.
template <typename Work>
void with_element(WeightType type, Work&& work) {
  switch (type) {
    case WeightType::kFloat32:
      return work(float());
    case WeightType::kBFloat16:
      return work(BFloat16());
    case WeightType::kInt8:
      return work(int8_t());
  }
}

}  // namespace tessera::ops::cpu
