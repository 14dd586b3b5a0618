#pragma once

#include <array>
#include <cstdint>
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

/// The numbers that a matrix of weights is kept in. A model is trained in float32; one that is only
/// read may keep its matrices in fewer bits, which are less to read for each token.
enum class WeightType {
  kFloat32,   ///< 32 bits a weight
  kBFloat16,  ///< 16: the upper half of a float
  kInt8,      ///< 8.5: whole numbers from -127 to 127, and a scale for every kWeightBlock of a row
};
constexpr std::array<std::string_view, 3> enum_names(WeightType) {
  return {"float32", "bf16", "int8"};
}

/// Neighbouring columns of a row that share a scale in WeightType::kInt8.
constexpr int64_t kWeightBlock = 32;

/// Scales of a row, where the last block may be a part of one.
constexpr int64_t weight_blocks(int64_t columns) {
  return (columns + kWeightBlock - 1) / kWeightBlock;
}

/// Bytes of a row in WeightType::kInt8: the whole numbers, filled up with zeros to whole blocks,
/// then the scales in bfloat16.
constexpr int64_t int8_row_bytes(int64_t columns) {
  return weight_blocks(columns) * (kWeightBlock + 2);
}

}  // namespace tessera::ops
