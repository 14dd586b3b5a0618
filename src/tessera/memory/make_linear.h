#pragma once

#include <torch/nn/modules/linear.h>

#include <cstdint>

#include "tessera/ops/number_formats.h"

namespace tessera {

/// A linear map [out, in] whose parameters lie on `device`. On the meta device they have sizes and
/// no memory, which torch::nn::Linear by itself cannot do: it always allocates on the CPU.
torch::nn::Linear make_linear(int64_t in, int64_t out, bool with_bias, at::Device device);

/// ops::linear() by such a map: x [.., in] -> [.., out].
at::Tensor mapped(const at::Tensor& x, const torch::nn::Linear& map, ops::Precision precision);

}  // namespace tessera
