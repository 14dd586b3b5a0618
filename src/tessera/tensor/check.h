#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/StringUtil.h>

#include <initializer_list>
#include <string_view>

#include "tessera/base/error.h"

/// Throws UsageError unless the condition holds: a caller's mistake. What follows the condition,
/// one after another, is the message; it is computed only then.
#define TESSERA_CHECK(condition, ...) \
  ((condition) ? void() : throw ::tessera::UsageError("{}", ::c10::str(__VA_ARGS__)))

namespace tessera {

/// Whether sizes are as expected, where -1 allows any.
bool sizes_fit(at::IntArrayRef found, at::IntArrayRef expected);

/// Throws UsageError unless `tensor` is defined and has these sizes; -1 allows any size.
/// what: "leaky_average: x" - the function and the argument.
void check_shape(const at::Tensor& tensor, std::initializer_list<int64_t> sizes,
                 std::string_view what);

/// Throws UsageError unless x is a floating-point [B, T, H, D]. what: "rotary: x".
void check_sequence(const at::Tensor& x, std::string_view what);

/// Throws UsageError unless x is a floating-point tensor of three dimensions.
void check_vectors(const at::Tensor& x, std::string_view what);

/// Throws UsageError unless `tensor` has these sizes (-1 allows any) and the dtype and device
/// of `reference`.
void check_like(const at::Tensor& tensor, std::initializer_list<int64_t> sizes,
                const at::Tensor& reference, std::string_view what);

}  // namespace tessera
