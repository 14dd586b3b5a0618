#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace tessera::ops {

/// The slopes [heads] of ALiBi's linear biases (Press et al. 2022, section 3), float on the CPU:
/// for heads = 2^n the geometric series 2^(-8/heads), 2^(-16/heads), …, 2^-8. For another number
/// the paper's text has no rule; the authors' code, which this follows, takes the series of the
/// next smaller power of two and fills up with every other slope of the series of twice that, from
/// its first on. Throws UsageError unless heads >= 1.
at::Tensor alibi_slopes(int64_t heads);

}  // namespace tessera::ops
