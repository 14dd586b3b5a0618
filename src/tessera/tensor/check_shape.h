#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <string_view>

namespace tessera {

/// Throws UsageError unless `tensor` is defined and has these sizes; -1 allows any size.
/// what: "leaky_average: x" - the function and the argument.
void check_shape(const at::Tensor& tensor, std::initializer_list<int64_t> sizes,
                 std::string_view what);

}  // namespace tessera
