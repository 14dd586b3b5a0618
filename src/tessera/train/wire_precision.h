#pragma once

#include <array>
#include <string_view>

namespace tessera {

/// The numbers in which gradients go from process to process.
enum class WirePrecision {
  kFloat32,   ///< as they are: doubles stay doubles
  kBFloat16,  ///< rounded twice, once before they are added up in float and once after
};
constexpr std::array<std::string_view, 2> enum_names(WirePrecision) {
  return {"fp32", "bf16"};
}

}  // namespace tessera
