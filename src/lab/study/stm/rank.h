#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::stm_study {

/// The numerical rank of a matrix: the squared Frobenius norm over the squared largest singular
/// value (Rudelson & Vershynin 2007; Le et al. 2020, supplementary G). Between 1 and the rank; 0 of
/// a matrix of zeros. Throws UsageError on anything but a matrix.
double numerical_rank(const at::Tensor& matrix);

}  // namespace tessera::stm_study
