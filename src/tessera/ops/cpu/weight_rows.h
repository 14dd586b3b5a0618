#pragma once

#include <cstdint>

#include "tessera/ops/weight_type.h"

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

}  // namespace tessera::ops::cpu
