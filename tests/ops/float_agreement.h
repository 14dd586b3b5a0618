#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <vector>

#include "tessera/ops/weights.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/other_device.h"

namespace tessera::ops {

inline constexpr WeightType kFewerBits[] = {WeightType::kBFloat16, WeightType::kInt8};

using OpUnderTest = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

inline at::TensorOptions real() {
  return at::TensorOptions().dtype(at::kDouble);
}
inline at::Tensor leaf(at::IntArrayRef sizes) {
  return at::randn(sizes, real()).requires_grad_(true);
}

/// The output and the gradients of all floating-point inputs, under a fixed weighting of the
/// output.
inline std::vector<at::Tensor> value_and_gradients(const OpUnderTest& op,
                                                   const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> leaves;
  for (const auto& input : inputs) leaves.push_back(input.detach().requires_grad_(true));
  const at::Tensor value = op(leaves);
  const at::Tensor weights =
      at::cos(at::arange(value.numel(), real()) * 1.7 + 1).view(value.sizes()).to(value.dtype());
  std::vector<at::Tensor> result =
      torch::autograd::grad({(value * weights).sum()}, leaves, {}, false, false, true);
  result.insert(result.begin(), value.detach());
  return result;
}

/// `op` gives the same value and gradients on the other device, from the same inputs.
inline void expect_same_on_other_device(const OpUnderTest& op,
                                        const std::vector<at::Tensor>& inputs, double tolerance) {
  const auto there = [&](const std::vector<at::Tensor>& in) {
    std::vector<at::Tensor> moved;
    for (const at::Tensor& input : in) moved.push_back(input.to(test::other_device()));
    return op(moved).to(at::kCPU);
  };
  const auto actual = value_and_gradients(there, inputs);
  const auto expected = value_and_gradients(op, inputs);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_LT(test::relative_error(actual[i], expected[i]), tolerance) << i;
}

/// `op` gives the same bits on one thread and on three.
inline void expect_same_on_any_threads(const OpUnderTest& op,
                                       const std::vector<at::Tensor>& inputs) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const auto alone = value_and_gradients(op, inputs);
  at::set_num_threads(3);
  const auto together = value_and_gradients(op, inputs);
  at::set_num_threads(threads);
  for (size_t k = 0; k < alone.size(); ++k) EXPECT_TRUE(alone[k].equal(together[k])) << k;
}

/// Float tensors on the CPU take the fused loops, doubles the composed functions: both must give
/// the same values and gradients. inputs: doubles.
inline void expect_float_agrees_with_double(const OpUnderTest& op,
                                            const std::vector<at::Tensor>& inputs,
                                            double tolerance = 1e-5) {
  std::vector<at::Tensor> floats, doubles;
  for (const auto& input : inputs) {
    floats.push_back(input.detach().to(at::kFloat));
    doubles.push_back(floats.back().to(at::kDouble));
  }
  const auto actual = value_and_gradients(op, floats);
  const auto expected = value_and_gradients(op, doubles);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k) {
    ASSERT_EQ(actual[k].defined(), expected[k].defined()) << "gradient " << k;
    if (!actual[k].defined()) continue;
    EXPECT_EQ(actual[k].scalar_type(), at::kFloat);
    ASSERT_EQ(actual[k].sizes(), expected[k].sizes());
    EXPECT_LT(test::relative_error(actual[k].to(at::kDouble), expected[k]), tolerance)
        << (k == 0 ? "value" : "gradient of input ") << k << ", shape " << inputs[0].sizes();
  }
}

/// The op with rounded products gives values and gradients close to those of the op in float, all
/// of them floats. differs: whether the values must be others.
inline void expect_close_to_float(const OpUnderTest& in_float, const OpUnderTest& rounding,
                                  const std::vector<at::Tensor>& inputs, double tolerance = 0.02,
                                  bool differs = true) {
  const auto exact = value_and_gradients(in_float, inputs);
  const auto rounded = value_and_gradients(rounding, inputs);
  for (size_t k = 0; k < exact.size(); ++k) {
    EXPECT_EQ(rounded[k].scalar_type(), at::kFloat);
    EXPECT_LT(test::relative_error(rounded[k], exact[k]), tolerance) << k;
  }
  if (differs) {
    EXPECT_FALSE(rounded[0].equal(exact[0]));
  }
}

}  // namespace tessera::ops
