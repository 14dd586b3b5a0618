#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>

namespace tessera::ops {

/// Throws UsageError unless x is a floating-point [B, T, H, D]. what: "rotary: x".
void check_sequence(const at::Tensor& x, const char* what);

/// Throws UsageError unless x is a floating-point tensor of three dimensions.
void check_vectors(const at::Tensor& x, const char* what);

/// Throws UsageError unless `tensor` has these sizes (-1 allows any) and the dtype and device
/// of `reference`.
void check_like(const at::Tensor& tensor, std::initializer_list<int64_t> sizes,
                const at::Tensor& reference, const char* what);

}  // namespace tessera::ops
