#pragma once

#include <torch/nn/modules/linear.h>

#include <cstdint>

namespace tessera {

/// A linear map [out, in] whose parameters lie on `device`. On the meta device they have sizes and
/// no memory, which torch::nn::Linear by itself cannot do: it always allocates on the CPU.
torch::nn::Linear make_linear(int64_t in, int64_t out, bool with_bias, at::Device device);

}  // namespace tessera
