#pragma once

#include <array>
#include <string_view>

namespace tessera::ops {

/// The number format of the operands of an op's matrix products. Parameters, activations between
/// ops, softmax, norms and accumulation are always kept in the tensors' own dtype.
enum class Precision {
  kFloat32,   ///< operands as they come
  kBFloat16,  ///< operands rounded to bfloat16 just before each product; gradients are float again
};
constexpr std::array<std::string_view, 2> enum_names(Precision) {
  return {"fp32", "bf16"};
}

}  // namespace tessera::ops
