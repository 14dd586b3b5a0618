#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

namespace tessera {

/// Throws UsageError unless these are whole numbers (int64) and, where they lie on the CPU,
/// in [lowest, vocabulary). what: "token", "target".
void check_token_ids(const at::Tensor& ids, int64_t lowest, int64_t vocabulary,
                     std::string_view what);

}  // namespace tessera
