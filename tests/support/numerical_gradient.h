#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace tessera::test {

/// Holds the gradients of `function` against central differences, in double.
/// inputs: double tensors; those that require a gradient are perturbed one element at a time, in
/// place where they are contiguous leaves, and put back: they may be parameters of a module that
/// `function` calls. The scalar that is differentiated is a fixed pseudo-random weighting of the
/// output, so that no symmetric mistake cancels. Fails where |analytic - numerical| > tolerance *
/// max(1, |numerical|).
::testing::AssertionResult gradients_agree(
    const std::function<at::Tensor(const std::vector<at::Tensor>&)>& function,
    std::vector<at::Tensor> inputs, double tolerance = 1e-6, double step = 1e-5);

/// Largest |actual - expected| over the largest |expected| (1 where expected is all zero).
double relative_error(const at::Tensor& actual, const at::Tensor& expected);

}  // namespace tessera::test
