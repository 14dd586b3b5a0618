#pragma once

#include <cstdint>

#include "tessera/ops/number_formats.h"

namespace tessera::ops::cpu {

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
